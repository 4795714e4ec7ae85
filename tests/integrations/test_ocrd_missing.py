"""Without OCR-D the command says what to install; this needs no OCR-D."""

import subprocess
import sys

from drmamba.errors import install_command


def test_without_ocrd_one_line_names_the_extra():
    code = "import sys; sys.modules['ocrd'] = None; from drmamba.cli.ocrd import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "--dump-json"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"ocrd-drmamba-binarize: ocrd is not installed; get it with: {install_command('ocrd')}"
    ]
