"""Downloads from and uploads to the Hugging Face Hub, with errors that say what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import drmamba
from drmamba.errors import CheckpointError, MissingExtra

WEIGHTS, EXPORTED = "model.safetensors", "model.onnx"


def parse_id(name: str) -> tuple[str, str | None] | None:
    """Split `owner/name` or `owner/name@revision` into its two parts; None if it is neither.

    >>> parse_id("owner/name@v1"), parse_id("owner/name"), parse_id("lite"), parse_id("a/b.onnx")
    (('owner/name', 'v1'), ('owner/name', None), None, None)
    """
    found = re.fullmatch(r"([\w-][\w.-]*/[\w-][\w.-]*)(?:@([\w./-]+))?", name)
    if found is None or name.endswith((".safetensors", ".onnx")):
        return None
    return found[1], found[2]


def fetch(repository: str, filename: str, revision: str | None = None) -> Path:
    """A file of a repository, from the local cache or the network.

    A revision is a branch, a tag or the sha of a commit; a full sha that is in the cache needs no network.
    """
    hub = _library()
    try:
        return Path(hub.hf_hub_download(repository, filename, revision=revision, **_about()))
    except Exception as error:  # the library raises many types of errors; the cause is kept
        wanted = f"{filename} of {repository!r}" + (f" at {revision!r}" if revision else "")
        raise CheckpointError(f"cannot get {wanted} from the Hub: {_reason(hub, error)}") from error


def upload(
    repository: str,
    files: Mapping[str, bytes],
    *,
    message: str,
    private: bool = False,
    revision: str | None = None,
) -> str:
    """Create the repository if needed and commit the files together; returns the sha of the commit."""
    hub = _library()
    try:
        api = hub.HfApi(**_about())
        api.create_repo(repository, private=private, exist_ok=True)
        if revision:
            api.create_branch(repository, branch=revision, exist_ok=True)
        additions = [hub.CommitOperationAdd(name, data) for name, data in files.items()]
        commit = api.create_commit(repository, additions, commit_message=message, revision=revision)
        return str(commit.oid)
    except Exception as error:
        raise CheckpointError(f"cannot push to {repository!r}: {_reason(hub, error)}") from error


def _library() -> ModuleType:
    try:
        import huggingface_hub
        import huggingface_hub.constants
        import huggingface_hub.errors
    except ImportError as error:
        raise MissingExtra("huggingface_hub", "hub") from error
    return huggingface_hub


def _about() -> dict[str, str]:
    return {"library_name": "drmamba", "library_version": drmamba.__version__}


def _reason(hub: ModuleType, error: Exception) -> str:
    """One line that says what failed and what to do."""
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # uploads wrap the cause
    kinds = hub.errors
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, kinds.LocalEntryNotFoundError | kinds.OfflineModeIsEnabled):
        why = "HF_HUB_OFFLINE is set" if hub.constants.HF_HUB_OFFLINE else "the network does not answer"
        return f"it is not in the local cache and {why}; get it once with a network, or give a file instead"
    if isinstance(error, kinds.GatedRepoError):
        return "access must be asked for on its page first; then log in with `hf auth login`"
    if status in (401, 403) and not isinstance(error, kinds.RepositoryNotFoundError):
        return "the token is missing or may not do this; log in with `hf auth login`, or set HF_TOKEN"
    if isinstance(error, kinds.RepositoryNotFoundError):
        return "there is no such repository; if it is private, log in with `hf auth login` or set HF_TOKEN"
    if isinstance(error, kinds.RevisionNotFoundError):
        return "there is no such revision; give a branch, a tag or a commit's sha"
    if isinstance(error, kinds.EntryNotFoundError):
        return "the repository has no such file"
    first = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {first}".rstrip(": ")
