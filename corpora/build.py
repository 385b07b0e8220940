"""Building: raw files in, cleaned JSON Lines and a manifest out.

A generator of progress; knows nothing of who listens. Everything is written to a temporary folder
first, so that a built corpus is there whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Generator, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpora import places
from corpora.clean import clean_text, clean_title, han_only
from corpora.errors import UserError
from corpora.files import put_in_place, scratch_folder, write_bytes
from corpora.package import MARKER
from corpora.poems import IRREGULAR, Poem, RawPoem, raw_files, read_raw
from corpora.split import HELD_OUT_PER_MILLE, SHINGLE, LeakIndex, is_held_out
from corpora.tally import RuleRow, Tally

SOURCES = {
    "tang": ("dist/quantangshi", "poet.tang.*.json"),
    "song": ("dist/quantangshi", "poet.song.*.json"),
    "ci": ("dist/songci", "ci.song.*.json"),
}
"""The three parts of the source: folder and file pattern inside the unpacked package."""

_BEYOND_BMP = re.compile("[\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class BuildProgress:
    """`done` of `total` files; `stage` is the part being read, or "write"."""

    stage: str
    done: int
    total: int


@dataclass(frozen=True)
class Built:
    """The last record of a build: where it is, the table of rules, the manifest as written."""

    folder: Path
    rows: tuple[RuleRow, ...]
    manifest: dict[str, Any]
    already_there: bool = False


@dataclass(frozen=True)
class Candidate:
    """A cleaned poem, the classes of dirt that it showed, and its normalised text."""

    poem: Poem
    classes: tuple[str, ...]
    key: str

    @property
    def order(self) -> tuple[bool, str]:
        """Of two copies the one in regular lines wins, then the lower id: never the file order."""
        return (self.poem.form == IRREGULAR, self.poem.id)


def build(
    root: Path | None = None, source: Path | None = None, rebuild: bool = False
) -> Generator[BuildProgress | Built, None, None]:
    """Clean the fetched package into `built_folder(root)`; the last record is a Built.

    `source` is the unpacked package (default: where `fetch` puts it). A corpus that is already
    built is left alone unless `rebuild`. Raises UserError where the source is missing or damaged.
    """
    folder = places.built_folder(root)
    if not rebuild and (there := read_manifest(folder)) is not None:
        yield Built(folder, tuple(RuleRow(**row) for row in there["rules"]), there, True)
        return
    source = source or places.source_folder(root)
    tallies = {part: Tally(part) for part in SOURCES}
    candidates: dict[str, list[Candidate]] = {}
    for part in SOURCES:
        candidates[part] = yield from _clean_part(source, part, tallies[part])
    sets = select(candidates, tallies)
    yield BuildProgress("write", 0, len(sets))
    rows = tuple(row for tally in tallies.values() for row in tally.rows())
    manifest = _manifest(source, tallies, rows)
    _write(folder, sets, manifest)
    yield BuildProgress("write", len(sets), len(sets))
    yield Built(folder, rows, manifest)


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a built corpus, or None where there is none whole enough to be used."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    whole = all((folder / f"{name}.jsonl").is_file() for name in places.BUILT_NAMES)
    return manifest if whole and isinstance(manifest, dict) else None


def select(
    candidates: dict[str, list[Candidate]], tallies: dict[str, Tally]
) -> dict[str, list[Poem]]:
    """Choose the held-out poems, drop duplicates and leaks, and name the five sets.

    Every candidate is booked once in the tally of its part.
    """
    taken: set[str] = set()
    tang = _distinct(candidates["tang"], taken, tallies["tang"])
    held = [c for c in tang if c.poem.form != IRREGULAR and is_held_out(c.key)]
    held_keys = {c.key for c in held}
    index = LeakIndex(held_keys)
    for candidate in held:
        tallies["tang"].book(candidate.classes, None)
    tang = [c for c in tang if c.key not in held_keys]
    irregular = _without_leaks([c for c in tang if _irregular(c)], index, None)
    verse = _without_leaks([c for c in tang if not _irregular(c)], index, tallies["tang"])
    for candidate in (c for c in tang if _irregular(c)):
        tallies["tang"].book(candidate.classes, "irregular")
    sets = {"tang.train": verse, "tang.heldout": held}
    for part in ("song", "ci"):
        found = _distinct(candidates[part], taken, tallies[part])
        if part == "song":
            found = _only_regular(found, tallies[part])
        sets[f"{part}.train"] = _without_leaks(found, index, tallies[part])
    sets["tang.irregular"] = irregular
    return {name: [c.poem for c in chosen] for name, chosen in sets.items()}


def _irregular(candidate: Candidate) -> bool:
    return candidate.poem.form == IRREGULAR


def _clean_part(
    source: Path, part: str, tally: Tally
) -> Generator[BuildProgress, None, list[Candidate]]:
    folder, pattern = SOURCES[part]
    files = raw_files(source / folder, pattern)
    candidates: list[Candidate] = []
    for done, path in enumerate(files):
        yield BuildProgress(part, done, len(files))
        for raw in read_raw(path):
            candidate = candidate_of(raw, tally)
            if candidate is not None:
                candidates.append(candidate)
    yield BuildProgress(part, len(files), len(files))
    return candidates


def candidate_of(raw: RawPoem, tally: Tally) -> Candidate | None:
    """Clean one raw poem; None, and booked in `tally`, where a rule of the text drops it."""
    cleaned = clean_text(raw.text)
    title, author = clean_title(raw.title), _clean_author(raw.author)
    classes = cleaned.seen
    if _BEYOND_BMP.search(raw.text):
        classes += ("nonbmp",)
    if _marked(raw.title) or _marked(raw.author):
        classes += ("titles",)
    if cleaned.text is None:
        tally.book(classes, cleaned.dropped_by)
        return None
    poem = Poem(raw.id, title, author, cleaned.text)
    return Candidate(poem, classes, han_only(cleaned.text))


@cache
def _clean_author(name: str) -> str:
    """As a title; a few thousand names stand over three hundred thousand poems."""
    return clean_title(name)


def _marked(title: str) -> bool:
    """True where a title holds more than characters and the spaces between its parts."""
    return len(han_only(title)) + title.count(" ") != len(title)


def _distinct(found: list[Candidate], taken: set[str], tally: Tally) -> list[Candidate]:
    """One candidate for each normalised text not yet in `taken`, in the order found."""
    best: dict[str, Candidate] = {}
    for candidate in found:
        rival = best.get(candidate.key)
        if rival is None or candidate.order < rival.order:
            best[candidate.key] = candidate
    kept = []
    for candidate in found:
        if candidate.key in taken or best[candidate.key] is not candidate:
            tally.book(candidate.classes, "duplicate")
        else:
            kept.append(candidate)
    taken.update(best)
    return kept


def _only_regular(found: list[Candidate], tally: Tally) -> list[Candidate]:
    for candidate in filter(_irregular, found):
        tally.book(candidate.classes, "irregular")
    return [c for c in found if not _irregular(c)]


def _without_leaks(
    found: Iterable[Candidate], index: LeakIndex, tally: Tally | None
) -> list[Candidate]:
    kept = []
    for candidate in found:
        leaks = index.leaks(candidate.key)
        if not leaks:
            kept.append(candidate)
        if tally is not None:
            tally.book(candidate.classes, "leak" if leaks else None)
    return kept


def _manifest(source: Path, tallies: dict[str, Tally], rows: tuple[RuleRow, ...]) -> dict[str, Any]:
    return {
        "rules_version": places.RULES_VERSION,
        "source": {
            "package": places.PACKAGE_NAME,
            "version": places.PACKAGE_VERSION,
            "integrity": _source_integrity(source),
        },
        "opencc": version("opencc"),
        "held_out_per_mille": HELD_OUT_PER_MILLE,
        "shingle": SHINGLE,
        "parts": {t.part: {"poems": t.poems, "kept": t.kept} for t in tallies.values()},
        "rules": [asdict(row) for row in rows],
        "files": {},
    }


def _source_integrity(source: Path) -> str | None:
    """What `fetch` checked, from its marker; None for a folder that it did not put there."""
    try:
        marker = json.loads((source / MARKER).read_text(encoding="utf-8"))
        return str(marker["integrity"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(folder: Path, sets: dict[str, list[Poem]], manifest: dict[str, Any]) -> None:
    """Write all files to a scratch folder beside `folder`, then put it in place."""
    try:
        with scratch_folder(folder.parent, ".build-") as scratch:
            fresh = scratch / "corpus"
            for name, poems in sets.items():
                manifest["files"][name] = _write_set(fresh / f"{name}.jsonl", poems)
            write_bytes(fresh / "manifest.json", _json(manifest, indent=1))
            put_in_place(fresh, folder, scratch, stays=lambda _: False)
    except OSError as error:
        raise UserError(
            f"The corpus could not be written to {folder} ({error.strerror or error}). "
            "Make room or correct the folder's permissions, then build again."
        ) from error


def _write_set(path: Path, poems: list[Poem]) -> dict[str, Any]:
    data = b"".join(_json(asdict(poem)) for poem in poems)
    write_bytes(path, data)
    return {
        "poems": len(poems),
        "characters": sum(len(poem.text) for poem in poems),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def _json(value: Any, indent: int | None = None) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=indent) + "\n").encode("utf-8")
