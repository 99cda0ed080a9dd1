from zerograd.lab.claims.c20_ranks import ALONE, DEFERRED, EXACT, MICRO, N, both_halves, half
from zerograd.lab.loop import distance, weights
from zerograd.lab.ranks import on_two_ranks, spent


def test_two_ranks_are_one_process_with_all_rows() -> None:
    played = on_two_ranks(DEFERRED, half, True)
    assert played.error is None
    assert not played.findings
    assert distance(played.weights, weights(ALONE.run(both_halves())["model"])) < EXACT
    assert (played.names["apart"], played.names["exchanges"]) == (0, MICRO / N)
    assert spent() > 0
