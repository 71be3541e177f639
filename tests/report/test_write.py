"""Result files appear whole, private where they hold prompts, and never over a marked example by accident."""

from __future__ import annotations

import dataclasses
import os
import stat
from pathlib import Path

import pytest
import skills_ref

import radixadvisor
from radixadvisor.errors import OutputError
from radixadvisor.report.json import to_json
from radixadvisor.report.markdown import to_markdown
from radixadvisor.report.report import Report
from radixadvisor.report.write import DEFAULT_OUT, require_writable, write_file, write_reports
from radixadvisor.results import Analysis
from tests.report.fixtures import hostile, ordinary


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask() -> object:
    old = os.umask(0o022)
    yield
    os.umask(old)


@pytest.mark.usefixtures("umask")
def test_both_files_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    written = write_reports(ordinary(), folder)
    assert [path.name for path in written.paths] == ["report.json", "skill-radix-scheduler-advisor.md"]
    assert written.kept is None
    assert sorted(folder.iterdir()) == sorted(written.paths)
    assert written.paths[0].read_bytes() == to_json(ordinary())
    assert written.paths[1].read_text(encoding="utf-8") == to_markdown(ordinary())
    assert {mode(path) for path in written.paths} == {0o600}


@pytest.mark.usefixtures("umask")
def test_without_text_from_prompts_others_may_read(tmp_path: Path) -> None:
    branches = tuple(dataclasses.replace(branch, excerpt="") for branch in ordinary().branches)
    written = write_reports(dataclasses.replace(ordinary(), branches=branches), tmp_path)
    assert {mode(path) for path in written.paths} == {0o644}


def test_a_marked_example_stays_unless_its_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    skill = DEFAULT_OUT / "skill-radix-scheduler-advisor.md"
    DEFAULT_OUT.mkdir()
    skill.write_text(to_markdown(ordinary(), example=True), encoding="utf-8")
    written = write_reports(ordinary(), None)
    assert written.kept == skill
    assert [path.name for path in written.paths] == ["report.json"]
    assert 'example: "true"' in skill.read_text(encoding="utf-8")
    assert write_reports(ordinary(), DEFAULT_OUT).kept is None
    assert 'example: "true"' not in skill.read_text(encoding="utf-8")
    assert write_reports(ordinary(), None).kept is None


def test_a_folder_that_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for folder in (file, file / "below"):
        with pytest.raises(OutputError, match="is not a folder"):
            require_writable(folder)
        with pytest.raises(OutputError, match="Cannot write"):
            write_reports(ordinary(), folder)
    require_writable(tmp_path / "new" / "folder")
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_one_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="no permission"):
        require_writable(tmp_path)
    tmp_path.chmod(0o700)


def test_a_failed_write_leaves_the_old_file_and_no_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_file(tmp_path / "x.json", b"old", private=False)

    def refuse(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OutputError, match="No space left on device"):
        write_file(path, b"new", private=False)
    assert path.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [path]


def test_a_report_shows_itself(tmp_path: Path) -> None:
    report = Report(ordinary())
    assert report.to_json().encode() == to_json(ordinary())
    assert report.to_dict()["hits"]["headline"] == "sglang"
    assert report.to_markdown() == to_markdown(ordinary())
    assert max(map(len, report.to_text(60).splitlines())) <= 60
    assert len(report.write(tmp_path).paths) == 2


def test_the_functions_of_the_package() -> None:
    sample = str(Path(__file__).resolve().parents[2] / "samples" / "three.jsonl")
    trace = radixadvisor.load(sample, limit=2)
    assert isinstance(trace, radixadvisor.Trace)
    assert len(trace.requests) == 2
    report = radixadvisor.analyze(sample, model="llama-3.1-8b")
    assert isinstance(report, radixadvisor.Report)
    assert report.analysis.input.requests == 3
    assert report.analysis.model == "llama-3.1-8b"


def test_the_example_is_written_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = write_reports(ordinary(), None, example=True)
    assert first.kept is None
    assert write_reports(ordinary(), None).kept == first.paths[1]
    assert write_reports(ordinary(), None, example=True).kept is None
    assert first.paths[1].read_text(encoding="utf-8") == to_markdown(ordinary(), example=True)


@pytest.mark.parametrize("analysis", [ordinary(), hostile()], ids=["ordinary", "hostile"])
@pytest.mark.parametrize("name", ["skills", "radix-scheduler-advisor"])
def test_the_skill_folder_is_valid(name: str, analysis: Analysis, tmp_path: Path) -> None:
    written = write_reports(analysis, tmp_path / "out", skills=tmp_path / name)
    skill = next(path for path in written.paths if path.name == "SKILL.md")
    assert skill.parent.name == "radix-scheduler-advisor"
    assert skills_ref.validate(skill.parent) == []
    assert skills_ref.read_properties(skill.parent).name == "radix-scheduler-advisor"
    assert skill.read_text(encoding="utf-8") == to_markdown(analysis)
    assert skill.stat().st_mode & 0o077 == 0


def test_the_validator_sees_faults(tmp_path: Path) -> None:
    folder = tmp_path / "another-name"
    folder.mkdir()
    (folder / "SKILL.md").write_text(to_markdown(ordinary()), encoding="utf-8")
    assert skills_ref.validate(folder)
