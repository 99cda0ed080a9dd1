"""Each write has a row of its own, and the rows come round."""

import torch

from zerograd.engine.board import NOT_YET, Board


def test_every_write_is_found_in_its_row() -> None:
    host = torch.full((256, 2), NOT_YET)
    board = Board(host, host)  # on a CPU it is the same memory anyway
    rows = []
    for number in range(600):
        row = board.next_row()
        assert row.tolist() == [NOT_YET, NOT_YET]
        board.write(torch.tensor([float(number), 0.5]))
        assert row.tolist() == [float(number), 0.5]
        rows.append(row.data_ptr())
    assert rows[:256] == rows[256:512]
    assert len(set(rows)) == 256
