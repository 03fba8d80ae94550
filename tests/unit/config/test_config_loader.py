from __future__ import annotations

from pathlib import Path

import pytest

from mdnmt.config.decoding import Decoding
from mdnmt.config.loader import did_you_mean, find_named, load_model, load_yaml, parse_spec
from mdnmt.config.project import ProjectConfig
from mdnmt.config.study import StudyConfig
from mdnmt.errors import ConfigError
from mdnmt.fingerprint import fingerprint


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a: 1\nb: [\n", ":3: not valid YAML"),
        (b"a: 1\nb: 2\na: 3\n", ":3: not valid YAML: the key 'a' occurs twice"),
        (b"a: 1\n\tb: 2\n", ":2: not valid YAML"),
        (b"a: \xff\n", "byte 3 is not UTF-8"),
        (b"? [1, 2]\n: 3\n", "plain value"),
        (b"a: !!python/object/apply:os.getcwd []\n", ":1: not valid YAML"),
        (b"a: 2020-13-45\n", "not valid YAML"),
    ],
)
def test_bad_yaml_is_one_line_with_its_place(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_yaml(path)
    text = str(caught.value)
    assert text.startswith(str(path)) and said in text and "\n" not in text


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load_yaml(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_yaml(tmp_path)


def test_an_empty_file_has_the_defaults_and_a_list_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("# nothing\n")
    assert load_model(path, ProjectConfig) == ProjectConfig()
    path.write_text("- a\n")
    with pytest.raises(ConfigError, match="found list, expected keys and values"):
        load_model(path, ProjectConfig)


STUDY = "title: t\ndescription: d\ntasks: [a]\nmethods: [mixed]\n"


@pytest.mark.parametrize(
    ("model", "text", "said"),
    [
        (StudyConfig, STUDY + "decodng: {}\n", "unknown key 'decodng' (did you mean 'decoding'?); allowed: analysis"),
        (StudyConfig, STUDY + "decoding: {beam: 3}\n", "unknown key 'decoding.beam'"),
        (StudyConfig, STUDY + "combine_jobs: true\n", "'combine_jobs'; remove it: jobs are no longer combined"),
        (StudyConfig, STUDY + "all_methods: {}\n", "unknown key 'all_methods'; write options: [{set: {architecture"),
        (StudyConfig, STUDY + "per_method: {}\n", "'per_method'; write options: [{match: {method: NAME}, set: ...}]"),
        (StudyConfig, STUDY + "learning_rates: {}\n", "'learning_rates'; write options: [{set: {learning_rates"),
        (StudyConfig, STUDY + "options: [{match: {seed: 1}, set: {}}]\n", "unknown key 'options.0.match.seed'"),
        (StudyConfig, STUDY + "decoding: {beam_size: 0}\n", "beam_size: input should be greater than 0, found 0"),
        (StudyConfig, STUDY + "decoding: {beam_size: true}\n", "beam_size: input should be a number, found true"),
        (StudyConfig, STUDY + "decoding: {precision: int4}\n", "decoding.precision: found 'int4'"),
        (
            StudyConfig,
            STUDY + "comet: x\n",
            "found 'x', expected the keys name, batch_size, precision, sha256, such",
        ),
        (StudyConfig, STUDY + "decoding: 3\n", "decoding: found 3, expected the keys beam_size"),
        (StudyConfig, STUDY + "seeds: [true]\n", "seeds"),
        (StudyConfig, "title: t\n", "the key 'description' is missing"),
        (StudyConfig, STUDY + "seeds: 0\n", "from 1"),
        (StudyConfig, STUDY + "seeds: -1\n", "from 1"),
        (StudyConfig, STUDY + "seeds: [1, 1]\n", "different numbers"),
        (StudyConfig, STUDY + "seeds: [-2]\n", "from 0"),
        (StudyConfig, STUDY + "seeds: []\n", "seeds"),
        (StudyConfig, STUDY + "tables: {a-b: {}}\n", "the key 'tables.a-b.task' is missing"),
        (ProjectConfig, "device: gpu\n", "device"),
        (ProjectConfig, "threads: 0\n", "threads: input should be greater than 0, found 0"),
        (ProjectConfig, "stop_after_minutes: soon\n", "stop_after_minutes: input should be a valid number"),
    ],
)
def test_each_mistake_names_file_key_and_what_is_allowed(tmp_path: Path, model: type, text: str, said: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_model(path, model)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and said in message and "\n" not in message


def test_specs_of_the_command_line() -> None:
    assert parse_spec('{"study": "x"}', ProjectConfig).study == "x"
    with pytest.raises(ConfigError, match="--spec: not JSON"):
        parse_spec("{", ProjectConfig)
    with pytest.raises(ConfigError, match="--spec: unknown key 'studyy'"):
        parse_spec('{"studyy": "x"}', ProjectConfig)


def test_names_are_found_and_never_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "demo.yaml").write_text("")
    assert find_named(tmp_path, "demo", "study") == tmp_path / "demo.yaml"
    with pytest.raises(ConfigError, match=r"no study 'dmeo' \(did you mean 'demo'\?\); there are: demo"):
        find_named(tmp_path, "dmeo", "study")
    for name in ("../demo", "Demo", "", "demo.yaml", "/etc/hosts", "nan", "null", "a" * 260):
        with pytest.raises(ConfigError, match="lower-case letters, digits and dashes"):
            find_named(tmp_path, name, "study")
    assert did_you_mean("zzz", ["demo"]) == ""


def test_seeds_as_number_and_as_list() -> None:
    value = {"title": "t", "description": "d", "tasks": ["a"], "methods": ["mixed"]}
    assert StudyConfig.model_validate({**value, "seeds": 3}).seed_list == (1, 2, 3)
    assert StudyConfig.model_validate({**value, "seeds": [0, 7]}).seed_list == (0, 7)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["[", "- "])
def test_values_that_are_nested_very_deep_are_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text(200_000 * text)  # libyaml's loader would overflow the stack
    with pytest.raises(ConfigError, match=r"deep\.yaml.*: not valid YAML: .*recursion"):
        load_yaml(path)


def test_translations_of_another_precision_have_another_address() -> None:
    plain, other = (Decoding(precision=precision).model_dump() for precision in ("fp32", "int8"))
    assert Decoding().model_dump() == plain
    assert fingerprint("decode", plain) != fingerprint("decode", other)
