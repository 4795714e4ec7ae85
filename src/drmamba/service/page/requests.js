/* Requests to the API. A refusal becomes an Error whose message is the problem's `detail`. */

/** Return the error of an answer that is not a success. */
async function refusal(answer) {
  let words = `The service answered with status ${answer.status}.`;
  try {
    words = (await answer.json()).detail || words;
  } catch {
    // The answer is no problem+json, so its status must do.
  }
  return Object.assign(new Error(words), { status: answer.status });
}

/** Call a path of the API and return its JSON, or null if there is none. */
export async function call(path, options = {}) {
  const answer = await fetch(path, options);
  if (!answer.ok) throw await refusal(answer);
  return answer.status === 204 ? null : answer.json();
}

/** Get a picture; returns its address in this browser and, for a map, the values of its first and last colour. */
export async function picture(path, signal) {
  const answer = await fetch(path, { signal });
  if (!answer.ok) throw await refusal(answer);
  const [low, high] = ["Drmamba-Low", "Drmamba-High"].map((name) => answer.headers.get(name));
  return { address: URL.createObjectURL(await answer.blob()), low, high };
}

/** Start a job with files; `sent` is called with the share that has been sent. Returns {done, abort}. */
export function startJob(files, query, sent) {
  const request = new XMLHttpRequest(); // fetch does not say how much has been sent
  const form = new FormData();
  for (const file of files) form.append("file", file, file.name);
  const done = new Promise((resolve, reject) => {
    request.upload.onprogress = (event) => event.lengthComputable && sent(event.loaded / event.total);
    request.onload = async () => {
      if (request.status === 202) resolve(JSON.parse(request.responseText));
      else reject(await refusal(new Response(request.responseText, { status: request.status })));
    };
    request.onerror = () => reject(new Error("The service cannot be reached, or it ended the upload."));
    request.onabort = () => reject(Object.assign(new Error("The upload was cancelled."), { name: "AbortError" }));
  });
  request.open("POST", `v1/jobs?${query}`);
  request.send(form);
  return { done, abort: () => request.abort() };
}
