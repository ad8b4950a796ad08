"""Fuzzed submissions: zero fabricated citations (the benchmark runs ten thousand)."""

from __future__ import annotations

import pytest

from tests.explorer.fuzzing import Fuzzed


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_no_fuzzed_submission_ever_cites_what_was_not_shown(seed: int) -> None:
    fuzzed = Fuzzed(seed)
    assert await fuzzed.run(400) == []
    assert fuzzed.taken > 100 and fuzzed.bounced > 10 and fuzzed.refused > 10  # each way was gone


async def test_the_fuzzer_itself_would_see_a_fabricated_citation() -> None:
    fuzzed = Fuzzed(4)
    good = {"findings": [{"claim": "c", "evidence": [fuzzed.ids[0]]}]}
    report = await fuzzed.reported(good)
    assert report is not None and report.findings
    del fuzzed.lines[report.findings[0].evidence[0].chat, report.findings[0].evidence[0].message]
    fuzzed.check(report, good)
    assert fuzzed.wrong == ["a line that was never shown: m_1"]
