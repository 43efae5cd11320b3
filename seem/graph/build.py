"""The graph in memory: string ids, weighted undirected edges, changed in place; out comes a torch CSR for ``ppr``.

Takes node ids (entities, passages, frames alike) and edge weights; gives node numbers and the raw symmetric weights.
The adjacency in dictionaries is the truth, the matrix is derived: ``csr`` folds only what changed since the last call
into sorted numpy arrays, O(edges) in plain copies and O(changes) in Python. Knows nothing about what a node means,
where weights come from, or storage. Not thread-safe: the owner holds the memory's lock.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import numpy.typing as npt
import torch

from seem.errors import InputError, NotFoundError

# Renumbering costs O(graph), so it waits until the dead outnumber the living, and small graphs never bother.
_DEAD_BEFORE_RENUMBERING = 1024
_COLUMN_BITS = 32
_COLUMN_MASK = (1 << _COLUMN_BITS) - 1


class Graph:
    """A weighted undirected graph over string ids.

    A node number holds until the next ``add_node``. The number of a removed node goes to nobody else before all are
    renumbered, which ``numbering`` counts. A loop (``a`` to ``a``) conducts nothing and is left out.
    """

    def __init__(self, *, device: str = "cpu") -> None:
        self._device = torch.device(device)
        self.numbering = 0
        self._ids: list[str | None] = []
        self._index: dict[str, int] = {}
        self._neighbours: list[dict[int, float]] = []
        self._changed: set[int] = set()
        # The matrix as sorted (row, column) keys and weights: what ``_changed`` is folded into.
        self._keys: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._weights: npt.NDArray[np.float32] = np.empty(0, dtype=np.float32)
        self._csr: torch.Tensor | None = None

    def __len__(self) -> int:
        """Count the living nodes."""
        return len(self._index)

    def __contains__(self, node: object) -> bool:
        """Tell whether ``node`` is the id of a living node."""
        return node in self._index

    @property
    def size(self) -> int:
        """Length of a vector over all node numbers, those of removed nodes included."""
        return len(self._ids)

    @property
    def ids(self) -> tuple[str | None, ...]:
        """The id of each node number; ``None`` where the node was removed."""
        return tuple(self._ids)

    def index(self, node: str) -> int:
        """Give the number of ``node``; NotFoundError where the graph lacks it."""
        try:
            return self._index[node]
        except KeyError:
            raise NotFoundError(f"the graph has no node {node!r}: add it first") from None

    def add_node(self, node: str) -> int:
        """Add ``node`` unless it is there, and give its number."""
        if node in self._index:
            return self._index[node]
        if len(self._ids) - len(self._index) > max(_DEAD_BEFORE_RENUMBERING, len(self._index)):
            self._renumber()
        number = len(self._ids)
        self._ids.append(node)
        self._index[node] = number
        self._neighbours.append({})
        self._csr = None
        return number

    def add_edge(self, a: str, b: str, weight: float) -> None:
        """Add ``weight`` (positive) to the edge between ``a`` and ``b``, which must be nodes."""
        if not weight > 0:
            raise InputError(f"the weight {weight!r} between {a!r} and {b!r} is not positive: give a positive number")
        self._put(a, b, weight + self.weight(a, b))

    def set_edge(self, a: str, b: str, weight: float) -> None:
        """Make ``weight`` the weight of the edge between ``a`` and ``b``, which must be nodes; 0 removes the edge."""
        if not weight >= 0:
            raise InputError(f"the weight {weight!r} between {a!r} and {b!r} is negative: give a number from 0 up")
        self._put(a, b, weight)

    def weight(self, a: str, b: str) -> float:
        """Give the weight of the edge between two nodes, 0 where there is none."""
        return self._neighbours[self.index(a)].get(self.index(b), 0.0)

    def neighbours(self, node: str) -> dict[str, float]:
        """Give the neighbours of ``node`` and the weights of the edges to them."""
        found = {self._ids[other]: weight for other, weight in self._neighbours[self.index(node)].items()}
        return {name: weight for name, weight in found.items() if name is not None}

    def remove_node(self, node: str) -> None:
        """Remove ``node`` and its edges; NotFoundError where the graph lacks it."""
        number = self.index(node)
        for other in self._neighbours[number]:
            del self._neighbours[other][number]
            self._mark(number, other)
        self._neighbours[number] = {}
        self._ids[number] = None
        del self._index[node]
        self._csr = None

    def csr(self) -> torch.Tensor:
        """Give the weights as a symmetric torch CSR, ``(size, size)``, float32, int32 indices; empty rows for the dead.

        Cached until the next change. The tensor is never written to afterwards.
        """
        if self._csr is None:
            if self._changed:
                self._fold()
            self._csr = _to_csr(self._keys, self._weights, self.size).to(self._device)
        return self._csr

    def _put(self, a: str, b: str, weight: float) -> None:
        if not math.isfinite(weight):
            raise InputError(f"the weight {weight!r} between {a!r} and {b!r} is not finite: give a finite number")
        i, j = self.index(a), self.index(b)
        if i == j:
            return
        if weight > 0:
            self._neighbours[i][j] = self._neighbours[j][i] = weight
        else:
            self._neighbours[i].pop(j, None)
            self._neighbours[j].pop(i, None)
        self._mark(i, j)
        self._csr = None

    def _mark(self, i: int, j: int) -> None:
        self._changed.add(i << _COLUMN_BITS | j)
        self._changed.add(j << _COLUMN_BITS | i)

    def _fold(self) -> None:
        """Bring the sorted arrays up to date with the dictionaries."""
        changed = np.fromiter(self._changed, dtype=np.int64, count=len(self._changed))
        changed.sort()
        weights = np.array(
            [self._neighbours[key >> _COLUMN_BITS].get(key & _COLUMN_MASK, 0.0) for key in changed.tolist()],
            dtype=np.float32,
        )
        keep = np.ones(len(self._keys), dtype=np.bool_)
        at = np.searchsorted(self._keys, changed)
        known = at < len(self._keys)
        known[known] = self._keys[at[known]] == changed[known]
        keep[at[known]] = False
        keys, old = self._keys[keep], self._weights[keep]
        new = weights > 0
        place = np.searchsorted(keys, changed[new])
        self._keys = np.insert(keys, place, changed[new])
        self._weights = np.insert(old, place, weights[new])
        self._changed.clear()

    def _renumber(self) -> None:
        """Close the gaps that removed nodes left; the arrays are rebuilt whole at the next ``csr``."""
        living = [number for number, node in enumerate(self._ids) if node is not None]
        fresh = {number: place for place, number in enumerate(living)}
        self._neighbours = [
            {fresh[other]: weight for other, weight in self._neighbours[number].items()} for number in living
        ]
        self._ids = [self._ids[number] for number in living]
        self._index = {node: place for place, node in enumerate(self._ids) if node is not None}
        self._keys, self._weights = self._keys[:0], self._weights[:0]
        self._changed = {i << _COLUMN_BITS | j for i, row in enumerate(self._neighbours) for j in row}
        self._csr = None
        self.numbering += 1


def _to_csr(keys: npt.NDArray[np.int64], weights: npt.NDArray[np.float32], size: int) -> torch.Tensor:
    """Build the CSR through PyG, with int32 indices: MKL is LP64 and would convert int64 ones at every product."""
    pairs = np.stack([keys >> _COLUMN_BITS, keys & _COLUMN_MASK]).astype(np.int32)
    with warnings.catch_warnings():
        # PyG's import and torch's CSR warn (a deprecation inside PyG, beta state, invariants): no news to a caller.
        warnings.simplefilter("ignore")
        # PyG takes seconds to import, which a command that never searches should not pay.
        from torch_geometric import EdgeIndex

        edges = EdgeIndex(torch.from_numpy(pairs), sparse_size=(size, size), sort_order="row")
        csr: torch.Tensor = edges.to_sparse_csr(torch.from_numpy(weights))
    return csr
