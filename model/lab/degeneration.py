"""What always taking the likeliest token comes to: share of repeated 4-grams by length, with
sampled runs of the same length beside.

Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration": the likeliest text is
a loop, and once in it each round makes the next one likelier.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from statistics import mean

from model.config import Controls, SamplerConfig
from model.generate import Prompt
from model.lab.base import (
    Cell,
    Check,
    Plot,
    Progress,
    Records,
    Request,
    Result,
    Series,
    Table,
    table,
)
from model.lab.handles import WITHOUT_CHAT, poet, prose_writer
from model.lab.loops import Loop, commonest, goes_on_alike, in_rounds, loop_of
from model.lab.measures import repeated_share
from model.lab.texts import OPENINGS, PROSE
from model.lab.writing import Written, write_one
from model.registry import ModelHandle
from model.subjects import Endless

WAYS: dict[str, SamplerConfig] = {
    "greedy": SamplerConfig(temperature=0.0),
    "T 0.8": SamplerConfig(temperature=0.8),
    "T 1": SamplerConfig(temperature=1.0),
}
GREEDY, *SAMPLED = WAYS
VERSE_LENGTHS, PROSE_LENGTHS, QUICK_LENGTHS = (20, 40, 80, 140, 280, 560), (20, 40, 80, 140), (40,)
"""Tokens written; 140 is the lesson's."""
LESSON_LENGTH, LESSON = 140, 0.876
"""The lesson's model, greedy: share of repeated 4-grams."""
N = 4
"""Tokens of a window."""
TEXTS, FEW = 8, 2
PHRASE, COPIES = 12, 8
"""Tokens of a phrase (a couplet of five characters has 12), and how often it is repeated."""
LIKELIER = 1.5
"""Times as probable, from which on it is worth saying."""
KNOWN = (10, 100, 1_000, 100_000)


@dataclass(frozen=True, slots=True)
class Runs:
    """One model's texts."""

    handle: ModelHandle
    prompts: tuple[Prompt, ...]
    lengths: tuple[int, ...]
    written: dict[str, list[Written]]
    """By way, one a prompt."""

    def repeated(self, way: str, length: int) -> float:
        """Mean share of repeated windows in the first ``length`` tokens."""
        return mean(repeated_share(text.tokens[:length], N) for text in self.written[way])

    def rounds(self, way: str, during: Progress) -> Generator[Progress, None, list[float]]:
        """Mean probability of the texts' first phrases, the first time and each time after."""
        tokenizer = self.handle.tokenizer
        copies = min(COPIES, (self.handle.model.config.block_size - 1) // PHRASE)
        each = []
        for prompt, text in zip(self.prompts, self.written[way], strict=True):
            yield during
            ids = (*prompt.encode(tokenizer), *text.tokens)
            phrase = [token for token in ids if token != tokenizer.start_id][:PHRASE]
            each.append(in_rounds(self.handle, phrase, copies))
        return [mean(of_round) for of_round in zip(*each, strict=True)]

    @property
    def loops(self) -> list[Loop | None]:
        """Of the greedy texts."""
        return [loop_of(text.tokens) for text in self.written[GREEDY]]


def run(request: Request) -> Records:
    """Progress counts texts."""
    yield Progress(0, 1, "the models")
    verse, prose = poet(request), prose_writer(request)
    plans: list[tuple[ModelHandle, tuple[Prompt, ...], tuple[int, ...]]] = []
    count = FEW if request.quick else TEXTS
    if verse:
        openings = OPENINGS[:count] if request.prompt is None else (request.prompt,)
        plans.append((verse, tuple(map(Prompt, openings)), VERSE_LENGTHS))
    if prose:
        texts = PROSE[:count] if request.prompt is None else (request.prompt,)
        plans.append((prose, tuple(Prompt(text, fragment=True) for text in texts), PROSE_LENGTHS))
    total = sum(len(prompts) for _, prompts, _ in plans) * len(WAYS)
    found: list[Runs] = []
    for handle, prompts, all_lengths in plans:
        lengths = QUICK_LENGTHS if request.quick else all_lengths
        done = sum(len(runs.prompts) * len(WAYS) for runs in found)
        found.append((yield from _write(handle, prompts, lengths, request.seed, done, total)))
    tables: list[Table] = []
    findings: list[str] = []
    for runs in found:
        during = Progress(total, total, "phrases after themselves")
        rounds: dict[str, list[float]] = {}
        for way in (GREEDY, "T 1"):
            rounds[way] = yield from runs.rounds(way, during)
        tables += [_by_length(runs), _greedy(runs), _again(rounds, runs.handle.spec.name)]
        findings += [_finding(runs), _reinforced(rounds, runs.handle.spec.name)]
    yield Result(
        "degeneration",
        tuple(tables),
        tuple(_plot(runs) for runs in found),
        (_one_token(), *(_in_loops(runs) for runs in found)),
        (*findings, *([] if prose or request.model else [WITHOUT_CHAT])),
        {"models": [runs.handle.spec.name for runs in found], "seed": request.seed},
    )


def _write(
    handle: ModelHandle,
    prompts: tuple[Prompt, ...],
    lengths: tuple[int, ...],
    seed: int,
    done: int,
    total: int,
) -> Generator[Progress, None, Runs]:
    written: dict[str, list[Written]] = {way: [] for way in WAYS}
    for way, sampler in WAYS.items():
        controls = Controls(sampler, seed=seed, max_tokens=lengths[-1])
        for prompt in prompts:
            during = Progress(done, total, f"{handle.spec.name}, {way}: {prompt.text[:12]}")
            yield during
            text = yield from write_one(
                handle, controls, during, prompt=prompt, constraint=Endless()
            )
            written[way].append(text)
            done += 1
    return Runs(handle, prompts, lengths, written)


def _by_length(runs: Runs) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            length,
            *(runs.repeated(way, length) for way in WAYS),
            LESSON if length == LESSON_LENGTH else None,
        )
        for length in runs.lengths
    ]
    return table(
        f"Repeated {N}-grams by length, {runs.handle.spec.name}",
        {"tokens": ",", **dict.fromkeys(WAYS, ".1%"), "the lesson's, greedy": ".1%"},
        rows,
        f"Windows of {N} tokens that stood in the same text before; mean over "
        f"{len(runs.prompts)} openings. The text may not end, so that all have one length.",
    )


def _greedy(runs: Runs) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for prompt, text, loop in zip(runs.prompts, runs.written[GREEDY], runs.loops, strict=True):
        window, times = commonest(text.tokens, N)
        rows.append(
            (
                prompt.text,
                repeated_share(text.tokens, N),
                runs.handle.tokenizer.decode(window),
                times,
                loop.begins if loop else None,
                loop.length if loop else None,
            )
        )
    heads = {"opening": "", "repeated": ".1%", f"commonest {N}-gram": "", "times": ","}
    return table(
        f"Greedy texts of {runs.lengths[-1]:,} tokens, {runs.handle.spec.name}",
        heads | {"goes round from": ",", "tokens a round": ","},
        rows,
        "A dash: it repeats itself without going round the same tokens to the end.",
    )


def _again(rounds: dict[str, list[float]], name: str) -> Table:
    return table(
        f"How likely a phrase is after itself, {name}",
        {"copy": "", **{f"{way} phrase": ".1%" for way in rounds}},
        [(at, *chances) for at, chances in enumerate(zip(*rounds.values(), strict=True), 1)],
        f"The first {PHRASE} tokens of each text, opening included, again and again: mean "
        "probability of a token of each copy, given all before.",
    )


def _plot(runs: Runs) -> Plot:
    return Plot(
        f"Repeated {N}-grams, {runs.handle.spec.name}",
        "tokens",
        "share",
        tuple(
            Series(way, tuple((float(n), runs.repeated(way, n)) for n in runs.lengths))
            for way in WAYS
        ),
        log_x=True,
        note="Sampled texts stay at the bottom however long they are.",
    )


def _one_token() -> Check:
    """A loop of one token has one new window; all others repeat it."""
    measured = [repeated_share([0] * n, N) for n in KNOWN]
    right = all(
        abs(share - (n - N) / (n - N + 1)) < 1e-12 for n, share in zip(KNOWN, measured, strict=True)
    )
    return Check(
        "a loop of one token repeats 100 % at the limit",
        right and measured[-1] > 0.9999,
        ", ".join(f"{n:,} tokens: {share:.3%}" for n, share in zip(KNOWN, measured, strict=True)),
    )


def _in_loops(runs: Runs) -> Check:
    """New windows end where the second round begins, so no more can be new than stand there."""
    bounds = [
        (repeated_share(text.tokens, N), 1 - (loop.begins + loop.length) / windows)
        for text, loop in zip(runs.written[GREEDY], runs.loops, strict=True)
        if loop and (windows := len(text.tokens) - N + 1) > 0
    ]
    return Check(
        f"a text of {runs.handle.spec.name} that goes round repeats all behind its first round",
        all(share >= bound - 1e-12 for share, bound in bounds) if bounds else None,
        f"{len(bounds)} of {len(runs.prompts)} greedy texts go round",
    )


def _finding(runs: Runs) -> str:
    name, last = runs.handle.spec.name, runs.lengths[-1]
    greedy, sampled = runs.repeated(GREEDY, last), runs.repeated("T 1", last)
    round_ones = sum(loop is not None for loop in runs.loops)
    said = (
        f"{name}: of {last:,} greedy tokens {greedy:.0%} of the {N}-grams are repeats, of as many "
        f"sampled at T 1 {sampled:.1%}; {round_ones} of {len(runs.loops)} greedy texts go round "
        "to the end."
    )
    if LESSON_LENGTH in runs.lengths:
        at = runs.repeated(GREEDY, LESSON_LENGTH)
        said += f" At {LESSON_LENGTH} tokens it is {at:.0%}, the lesson's model had {LESSON:.0%}."
    text = max(runs.written[GREEDY], key=lambda text: commonest(text.tokens, N)[1])
    window, times = commonest(text.tokens, N)
    if times > 1:
        said += (
            f" What comes back most is 「{runs.handle.tokenizer.decode(window)}」, which stands in "
            f"one text {times} times and went on {goes_on_alike(text.tokens, window)} times as the "
            "time before."
        )
    return said


def _reinforced(rounds: dict[str, list[float]], name: str) -> str:
    """Whether a phrase grows likelier by being repeated."""
    first, last = rounds[GREEDY][0], rounds[GREEDY][-1]
    said = (
        f"{name}: a token of a greedy phrase has {first:.0%} the first time and {last:.0%} in copy "
        f"{len(rounds[GREEDY])}"
    )
    if last >= LIKELIER * first:
        return f"{said}: repeating it makes it likelier, which is what holds a loop together."
    return f"{said}: repeating it hardly makes it likelier, so that nothing holds a loop together."
