"""Chat templates: the library's own ids for what is harmless, and text that stays text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import CheckpointError, InputError
from tests.pretrained.makers import (
    CONTROL,
    TEMPLATE,
    THINK,
    byte_tokenizer,
    needs_extra,
    write_tokenizer,
)
from tests.pretrained.test_tokenizer import opened

pytestmark = needs_extra
CONTENTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="<|>"), max_size=20
) | st.sampled_from(["", " padded ", "a\n\nb", "春眠", "it's <b>3</b> o'clock"])


def messages_of(*contents: str, **last: Any) -> list[Any]:
    from model.conversation import Message

    roles: Any = ("user", "assistant")
    made = [Message(roles[i % 2], content) for i, content in enumerate(contents)]
    return made if not last else [*made[:-1], Message(made[-1].role, made[-1].content, **last)]


@pytest.fixture(scope="module")
def chat() -> Any:
    from model.pretrained.template import ChatTemplate

    return ChatTemplate(TEMPLATE, opened(byte_tokenizer()), {"eos_token": "<|im_end|>"})


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from transformers import AutoTokenizer

    folder: Path = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder, byte_tokenizer())
    return AutoTokenizer.from_pretrained(folder, local_files_only=True)


@given(st.lists(CONTENTS, min_size=1, max_size=4))
def test_harmless_conversations_are_encoded_as_the_library_does(
    chat: Any, library: Any, contents: list[str]
) -> None:
    messages = messages_of(*contents)
    expected = library.apply_chat_template(
        [{"role": m.role, "content": m.content} for m in messages],
        add_generation_prompt=True,
        return_dict=False,
    )
    assert chat.encode(messages) == list(expected)


@pytest.mark.parametrize(
    "written", [*CONTROL, THINK, "".join(CONTROL), f"{CONTROL[2]}\n{CONTROL[1]}"]
)
@pytest.mark.parametrize("around", ["{}", "say {} now", "{} {}", "春{}𨣧"])
def test_a_users_text_is_never_parsed_as_control_tokens(
    chat: Any, written: str, around: str
) -> None:
    tokenizer = chat._tokenizer
    content = around.replace("{}", written)
    ids = chat.encode(messages_of(content))
    plain = chat.encode(messages_of("x"))
    control = set(tokenizer.control.values())
    assert [i for i in ids if i in control] == [i for i in plain if i in control]
    assert tokenizer.decode(ids) == f"user\n{content}\nassistant\n", "and not a character is lost"


@given(st.text(st.sampled_from([*"<|im_startend>x ", "春"]), max_size=40))
def test_neither_is_any_text_made_of_their_letters(chat: Any, content: str) -> None:
    tokenizer = chat._tokenizer
    control = set(tokenizer.control.values())
    ids = chat.encode(messages_of(content))
    assert sum(i in control for i in ids) == 3
    assert tokenizer.decode(ids) == f"user\n{content.strip()}\nassistant\n"


def test_a_reply_given_as_ids_stays_as_it_was_written(chat: Any) -> None:
    tokenizer = chat._tokenizer
    # letter by letter, as no tokenizer would encode it
    written = [i for char in " the fox" for i in tokenizer.encode(char)]
    assert written != tokenizer.encode(" the fox")
    end = tokenizer.control["<|im_end|>"]
    messages = messages_of("hello", "the fox", tokens=(*written, end))
    ids = chat.encode(messages)
    first = chat.encode(messages[:1])
    assert ids[: len(first) + len(written) + 1] == [*first, *written, end], "the cache stays good"
    assert ids.count(end) == chat.encode(messages_of("hello", "x")).count(end)


def test_a_reply_that_was_begun_is_gone_on_with(chat: Any) -> None:
    messages = messages_of("hello")
    begun = chat.encode(messages, "The <|im_end|>")
    assert begun == chat.encode(messages) + chat._tokenizer.encode("The <|im_end|>")


def test_the_end_of_a_turn_is_what_stands_behind_a_reply() -> None:
    from model.pretrained.template import end_of_turn

    control = {"<|im_start|>": 1, "<|im_end|>": 2, "<|im_end|>!": 3}
    assert end_of_turn(TEMPLATE, {}, control) == 2
    assert end_of_turn(TEMPLATE.replace("end|>", "end|>!"), {}, control) == 3, "the longest"
    assert end_of_turn("{{ messages[0]['content'] }}", {}, control) is None
    assert end_of_turn("{{ raise_exception('no') }}", {}, control) is None
    assert end_of_turn("{{ messages[-1].content + eos_token }}", {"eos_token": "<|im_end|>"},
                       control) == 2  # fmt: skip


def test_what_templates_are_written_with_is_there() -> None:
    from model.pretrained.template import ChatTemplate

    source = (
        "{%- for m in messages %}{% generation %}{{ m.content | tojson }}{% endgeneration %}"
        "{% break %}{% endfor %}{{ strftime_now('%Y')[:1] }}{{ tools is defined }}"
    )
    chat = ChatTemplate(source, opened(byte_tokenizer()))
    text = chat._tokenizer.decode(chat.encode(messages_of('a"春', "b")))
    assert text == '"a\\"春"2False'


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{{ cycler.__init__.__globals__.os.system('touch marker') }}",
        "{% for i in range(10**9) %}{% endfor %}",
        "{{ raise_exception('roles must alternate') }}",
        "{{ 1 // 0 }}",
    ],
)
def test_a_template_that_misbehaves_is_refused(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from model.pretrained.template import ChatTemplate

    monkeypatch.chdir(tmp_path)
    chat = ChatTemplate(source, opened(byte_tokenizer()))
    with pytest.raises(InputError, match="chat template refuses this"):
        chat.encode(messages_of("hello"))
    assert not list(tmp_path.iterdir())


def test_a_template_that_is_none_is_told_in_words() -> None:
    from model.pretrained.template import ChatTemplate

    with pytest.raises(CheckpointError, match="chat template cannot be read"):
        ChatTemplate("{% for %}", opened(byte_tokenizer()))
