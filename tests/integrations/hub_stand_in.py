"""A Hub on this machine: the endpoints that huggingface_hub calls to fetch a file and to commit some."""

import base64
import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "hf_stand_in"


class StandIn:
    """Repositories in memory: name -> {"refs": {branch: sha}, "commits": {sha: {path: bytes}}, "private": bool}."""

    def __init__(self):
        self.repositories, self.stored, self.requests = {}, {}, []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": self}))
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def add(self, name, files, branch="main"):
        """Commit files on top of what the branch holds; the new sha."""
        repository = self.repositories.setdefault(name, {"refs": {}, "commits": {}, "private": False})
        before = repository["commits"].get(repository["refs"].get(branch), {})
        number = len(repository["commits"])
        sha = hashlib.sha1(f"{name}{branch}{number}".encode()).hexdigest()
        repository["commits"][sha] = before | files
        repository["refs"][branch] = sha
        return sha

    def files(self, name, branch="main"):
        repository = self.repositories[name]
        return repository["commits"][repository["refs"][branch]]

    def close(self):
        """Stop answering: the network is gone."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Handler(BaseHTTPRequestHandler):
    hub: StandIn
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        self.hub.requests.append((self.command, self.path))

    def answer(self, status, body=b"", **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        headers.setdefault("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def allowed(self):
        if self.headers.get("Authorization") == f"Bearer {TOKEN}":
            return True
        self.answer(401, {"error": "Invalid username or password."})
        return False

    def do_GET(self):
        found = re.fullmatch(r"/([\w.-]+/[\w.-]+)/resolve/([^/]+)/(.+)", self.path)
        if not found:
            return self.answer(404, {"error": "not here"})
        name, revision, path = found.groups()
        repository = self.hub.repositories.get(name)
        if repository is None:  # as the Hub does for what may be private
            return self.answer(401, {"error": "Repository not found"}, X_Error_Code="RepoNotFound")
        sha = repository["refs"].get(revision, revision)
        if sha not in repository["commits"]:
            return self.answer(404, {"error": "Invalid rev id"}, X_Error_Code="RevisionNotFound")
        data = repository["commits"][sha].get(path)
        if data is None:
            return self.answer(
                404, {"error": "Entry not found"}, X_Error_Code="EntryNotFound", X_Repo_Commit=sha
            )
        etag = hashlib.sha256(data).hexdigest()
        return self.answer(200, data, ETag=f'"{etag}"', X_Repo_Commit=sha)

    def do_HEAD(self):
        self.do_GET()

    def do_POST(self):
        data = self.body()
        if self.path == "/api/validate-yaml":
            return self.answer(200, {"errors": [], "warnings": []})
        if not self.allowed():
            return None
        if self.path == "/api/repos/create":
            wanted = json.loads(data)
            name = "/".join(part for part in (wanted.get("organization"), wanted["name"]) if part)
            if name in self.hub.repositories:
                return self.answer(409, {"error": "exists", "url": f"{self.hub.url}/{name}"})
            self.hub.add(name, {})
            self.hub.repositories[name]["private"] = "private" in (
                wanted.get("visibility"),
                wanted.get("private") and "private",
            )
            return self.answer(200, {"url": f"{self.hub.url}/{name}", "name": name})
        if found := re.fullmatch(r"/([\w.-]+/[\w.-]+)\.git/info/lfs/objects/batch", self.path):
            wanted = json.loads(data)["objects"]
            objects = [
                one | {"actions": {"upload": {"href": f"{self.hub.url}/lfs/{one['oid']}", "header": {}}}}
                for one in wanted
            ]
            return self.answer(200, {"transfer": "basic", "objects": objects})
        found = re.fullmatch(r"/api/models/([\w.-]+/[\w.-]+)/(preupload|commit|branch)/([^/?]+)", self.path)
        if not found or found[1] not in self.hub.repositories:
            return self.answer(404, {"error": "Repository not found"}, X_Error_Code="RepoNotFound")
        name, what, revision = found.groups()
        if what == "branch":
            repository = self.hub.repositories[name]
            repository["refs"].setdefault(revision, repository["refs"]["main"])
            return self.answer(201, {})
        if what == "preupload":
            modes = [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith((".safetensors", ".onnx")) else "regular",
                    "shouldIgnore": False,
                }
                for file in json.loads(data)["files"]
            ]
            return self.answer(200, {"files": modes})
        files = {}
        for line in data.splitlines():
            item = json.loads(line)
            if item["key"] == "file":
                files[item["value"]["path"]] = base64.b64decode(item["value"]["content"])
            elif item["key"] == "lfsFile":
                files[item["value"]["path"]] = self.hub.stored[item["value"]["oid"]]
        sha = self.hub.add(name, files, revision)
        return self.answer(200, {"commitOid": sha, "commitUrl": f"{self.hub.url}/{name}/commit/{sha}"})

    def do_PUT(self):
        data = self.body()
        oid = self.path.removeprefix("/lfs/")
        assert hashlib.sha256(data).hexdigest() == oid
        self.hub.stored[oid] = data
        self.answer(200)
