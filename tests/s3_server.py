"""An S3 server on this machine, which keeps objects in a folder: S3Proxy, fetched by `make test`."""

from __future__ import annotations

import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.backends.artifacts import cache_root

KEY, SECRET, BUCKET = "bench", "a-secret", "runs"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": KEY,
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_REQUEST_CHECKSUM_CALCULATION": "WHEN_REQUIRED",
}
_HERE = Path(__file__).parent / "s3"
_STARTS_S = 30.0
_SETTINGS = """\
s3proxy.authorization=aws-v2-or-v4
s3proxy.endpoint=http://127.0.0.1:{port}
s3proxy.identity={key}
s3proxy.credential={secret}
jclouds.provider=filesystem-nio2
jclouds.identity={key}
jclouds.credential={secret}
jclouds.filesystem.basedir={data}
"""


def home() -> Path:
    """Return where its jars are."""
    version = re.search(r"<s3proxy.version>(.*)</s3proxy.version>", (_HERE / "pom.xml").read_text("utf-8"))
    assert version is not None
    return cache_root() / "s3proxy" / version[1]


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """Start it with one bucket; give the end of a URI below that bucket."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = folder / "data"
    (data / BUCKET).mkdir(parents=True)
    settings = folder / "s3proxy.conf"
    settings.write_text(_SETTINGS.format(port=port, key=KEY, secret=SECRET, data=data), encoding="utf-8")
    class_path = f"{_HERE}:{home()}/*"
    command = ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", class_path, "org.gaul.s3proxy.Main"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([*command, "--properties", str(settings)], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + _STARTS_S
        while not _listens(port):
            assert time.monotonic() < deadline, (folder / "log").read_text(encoding="utf-8")
            time.sleep(0.1)
        yield f"scheme=http&region=us-east-1&endpoint_override=127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
