"""A stand-in for an S3 store: objects in memory, served over HTTP to any process of this machine."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


class Handler(BaseHTTPRequestHandler):
    """As much of S3 as pyarrow asks for: read, write (whole or in parts), look, list."""

    protocol_version = "HTTP/1.1"
    objects: dict[str, bytes]
    parts: dict[str, dict[int, bytes]]
    log: list[str]

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    @property
    def key(self):
        return unquote(urlsplit(self.path).path).lstrip("/")

    @property
    def query(self):
        return {k: v[0] for k, v in parse_qs(urlsplit(self.path).query, keep_blank_values=True).items()}

    def body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "aws-chunked" not in self.headers.get("Content-Encoding", ""):
            return data
        whole = b""
        while data:  # size;extension CRLF bytes CRLF ... 0 CRLF trailers
            size, _, data = data.partition(b"\r\n")
            length = int(size.split(b";")[0], 16)
            if not length:
                break
            whole, data = whole + data[:length], data[length + 2 :]
        return whole

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        if "list-type" in self.query:
            return self.list()
        if self.key in self.objects:
            data, status, more = self.objects[self.key], 200, {}
            if (wanted := self.headers.get("Range")) and self.command == "GET":
                first, _, last = wanted.removeprefix("bytes=").partition("-")
                end = min(int(last or len(data) - 1), len(data) - 1)
                more = {"Content_Range": f"bytes {first}-{end}/{len(data)}"}
                data, status = data[int(first) : end + 1], 206
            if self.command == "HEAD":
                more["Content_Length"] = str(len(data))
            return self.answer(status, data, ETag=f'"{hashlib.md5(data).hexdigest()}"', **more)
        return self.answer(200 if "/" not in self.key.rstrip("/") else 404)

    def list(self):
        bucket, prefix = self.key.split("/")[0], self.query.get("prefix", "")
        names = sorted(key.split("/", 1)[1] for key in self.objects if key.startswith(f"{bucket}/{prefix}"))
        rows = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{len(self.objects[f'{bucket}/{name}'])}</Size>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for name in names
        )
        xml = (
            f"<ListBucketResult><Name>{bucket}</Name><KeyCount>{len(names)}</KeyCount>"
            f"<IsTruncated>false</IsTruncated>{rows}</ListBucketResult>"
        )
        self.log.append(f"list {prefix}")
        return self.answer(200, xml.encode(), Content_Type="application/xml")

    def do_PUT(self):
        data = self.body()
        if "uploadId" in self.query:
            self.parts[self.query["uploadId"]][int(self.query["partNumber"])] = data
        else:
            self.objects[self.key] = data
            self.log.append(f"put {self.key}")
        self.answer(200, ETag=f'"{hashlib.md5(data).hexdigest()}"')

    def do_POST(self):
        self.body()
        if "uploads" in self.query:
            number = f"upload{len(self.parts)}"
            self.parts[number] = {}
            xml = f"<InitiateMultipartUploadResult><UploadId>{number}</UploadId></InitiateMultipartUploadResult>"
        else:
            parts = self.parts[self.query["uploadId"]]
            self.objects[self.key] = b"".join(parts[number] for number in sorted(parts))
            self.log.append(f"put {self.key}")
            xml = '<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>'
        self.answer(200, xml.encode(), Content_Type="application/xml")

    def do_DELETE(self):
        self.objects.pop(self.key, None)
        self.answer(204)


class ObjectStore:
    """The running stand-in; `uri` is what a user would give."""

    def __init__(self):
        self.objects, self.log = {}, []
        kind = type("Handler", (Handler,), {"objects": self.objects, "parts": {}, "log": self.log})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def uri(self, path):
        host = f"127.0.0.1:{self.server.server_port}"
        return f"s3://key:secret@{path}?scheme=http&endpoint_override={host}&region=here"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
