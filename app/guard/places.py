"""What a path's name says: where secrets lie, what runs or configures, what is only built."""

from __future__ import annotations

import posixpath
import re
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Final

_SECRET_FOLDERS: Final = frozenset(
    """.ssh .aws .gnupg .azure .gcloud .kube .docker .password-store .1password keyrings keychains .mozilla
    google-chrome chromium bravesoftware .pki .config/gcloud .config/gh .config/op .config/hub .terraform.d""".split()
)
_SECRET_NAMES: Final = frozenset(
    """.netrc _netrc .npmrc .pypirc .pgpass .my.cnf .git-credentials .htpasswd credentials credentials.json
    credentials.toml .credentials.json .vault-token .s3cfg .boto id_rsa id_dsa id_ecdsa id_ed25519 shadow gshadow
    sudoers master.key secrets.yml secrets.yaml secrets.json secrets.toml terraform.tfstate auth.json token.json
    wallet.dat login.keychain cookies.sqlite logins.json key4.db environ""".split()
)
_SECRET_ENDS: Final = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".asc", ".gpg", ".ovpn")
_EXAMPLES: Final = ("server.pem", "server.key", "prod.env", "vault.kdbx", "store.jks")
_ENV = re.compile(r"\.env(?:\..+)?\Z|.+\.env\Z")
_ENV_SAMPLE = re.compile(r"\.env\.(?:example|sample|template|dist|defaults?)\Z")

_RUNS_FOLDERS: Final = frozenset(
    """.git .githooks .husky .vscode .idea .cursor .zed .fleet .devcontainer .circleci .buildkite .woodpecker .gitlab
    .claude .codex .gemini .agents .shoal .direnv .mvn .cargo .bundle .yarn .config""".split()
)
_RUNS_PARTS: Final = (".github/workflows", ".github/actions", ".forgejo/workflows", ".gitea/workflows")
_RUNS_NAMES: Final = frozenset(
    """head .gitconfig .gitmodules .gitattributes .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .zshrc .zshenv
    .zprofile .zlogin .profile .inputrc .ripgreprc .mcp.json .envrc .npmrc .yarnrc .yarnrc.yml .pypirc .vimrc .exrc
    .nvimrc .gdbinit .lldbinit .tmux.conf .screenrc .editorconfig .pre-commit-config.yaml .lefthook.yml lefthook.yml
    .gitlab-ci.yml .travis.yml .drone.yml .appveyor.yml appveyor.yml azure-pipelines.yml bitbucket-pipelines.yml
    jenkinsfile cloudbuild.yaml buildspec.yml package.json composer.json setup.py setup.cfg pyproject.toml tox.ini noxfile.py
    conftest.py sitecustomize.py usercustomize.py makefile gnumakefile justfile taskfile.yml rakefile gemfile
    build.rs build.gradle build.gradle.kts pom.xml cmakelists.txt dockerfile containerfile docker-compose.yml
    docker-compose.yaml compose.yml compose.yaml procfile vagrantfile crontab deno.json turbo.json nx.json project.json
    gulpfile.js gruntfile.js webpack.config.js vite.config.js vite.config.ts jest.config.js babel.config.js
    mise.toml .mise.toml .tool-versions .dir-locals.el .rprofile .irbrc .pryrc .pdbrc .bazelrc .nvim.lua .lvimrc
    pytest.ini .eslintrc.js .eslintrc.cjs eslint.config.js .pnpmfile.cjs meson.build sconstruct wscript
    agents.md claude.md gemini.md .cursorrules .windsurfrules shoal.toml .shoal.toml settings.toml""".split()
)
_RUNS_ENDS: Final = (".desktop", ".service", ".timer", ".plist", ".pth", ".code-workspace", ".sublime-project")
BUILT: Final = frozenset(
    """build dist out target node_modules __pycache__ .pytest_cache .mypy_cache .ruff_cache .tox .nox .venv venv coverage
    htmlcov .coverage .next .nuxt .turbo .parcel-cache .cache tmp temp .tmp logs bin obj .gradle .eggs""".split()
)


def parts_of(path: str) -> list[str]:
    """The path's parts, folded: deny lists fold case always (security.md §4.1)."""
    return [
        part.casefold().rstrip(". ") or part for part in posixpath.normpath(path).split("/") if part not in ("", ".")
    ]


def is_secret(path: str) -> bool:
    """Whether keys or passwords are likely there, by its name."""
    parts = parts_of(path.rstrip("*?"))
    if not parts:
        return False
    last = parts[-1]
    joined = [f"{a}/{b}" for a, b in pairwise(parts)]
    return (
        last in _SECRET_NAMES
        or last.endswith(_SECRET_ENDS)
        or (bool(_ENV.match(last)) and not _ENV_SAMPLE.match(last))
        or any(part in _SECRET_FOLDERS for part in (*parts, *joined))
    )


def matches_secret(pattern: str) -> bool:
    """Whether a shell pattern is likely to be filled in with a place of secrets.

    One that says something of the name and fits one of theirs (`.e*`, `id_*`, `.[e]nv`), or that asks for hidden names
    at all; `*.py` and `src/*` aren't. Braces aren't read: nothing with them is plain.
    """
    if not any(char in pattern for char in "*?["):
        return False
    for part in parts_of(pattern):
        if not any(char in part for char in "*?["):
            continue
        if part.startswith((".", "[", "?")):
            return True
        said = any(char.isalnum() for char in part)
        if said and any(fnmatchcase(name, part) for name in (*_SECRET_NAMES, *_SECRET_FOLDERS, *_EXAMPLES)):
            return True
    return False


def runs_or_configures(path: str) -> bool:
    """Whether something on this computer or in CI would run it, or change what it does by it."""
    parts = parts_of(path)
    if not parts:
        return False
    last = parts[-1]
    return (
        last in _RUNS_NAMES
        or last.endswith(_RUNS_ENDS)
        or last.startswith(("makefile.", "dockerfile.", "requirements"))
        or any(part in _RUNS_FOLDERS for part in parts)
        or any(place in "/".join(parts) for place in _RUNS_PARTS)
        or "hooks" in parts[:-1]
    )


def is_built(path: str) -> bool:
    """Whether a path is build output that comes again by itself."""
    parts = parts_of(path)
    return (
        bool(parts) and ".." not in parts and any(part in BUILT for part in parts) and not path.startswith(("/", "~"))
    )
