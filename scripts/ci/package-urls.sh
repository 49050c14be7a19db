#!/usr/bin/env bash
# Links on the page of the Python package: to the repository that releases it, which only that knows.
# usage: package-urls.sh REPOSITORY TAG [FOLDER], as in package-urls.sh https://github.com/OWNER/NAME v1.2.3
set -euo pipefail
url=${1%/} ref=$2 folder=${3:-$(dirname "${BASH_SOURCE[0]}")/../../python}
cat >>"$folder/pyproject.toml" <<END

[project.urls]
Repository = "$url"
Documentation = "$url/blob/$ref/docs/python.md"
Changelog = "$url/blob/$ref/CHANGELOG.md"
Issues = "$url/issues"
END
cat >>"$folder/PACKAGE.md" <<END

[Documentation]($url/blob/$ref/docs/python.md) · [Questions]($url/blob/$ref/docs/questions.md) ·
[Changes]($url/blob/$ref/CHANGELOG.md) · [Issues]($url/issues)
END
