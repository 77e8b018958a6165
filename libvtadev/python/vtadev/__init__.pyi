# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import enum
import os
from typing import (Any, Dict, Generator, Iterable, Iterator, List, NamedTuple, Optional, Tuple,
                    Union)

from ._core import Array as Array, Error as Error, Fault as Fault, Lost as Lost

__version__: str

# An input: an object with the buffer protocol or __dlpack__().
Input = Any
Result = Union[Array, Tuple[Array, ...]]

class Reason(enum.IntEnum):
    NONE: int
    PAGE: int
    PERM: int
    ENTRY: int
    DMA: int
    DESC: int
    ALIGN: int
    INSN: int
    BOUNDS: int
    CYCLES: int
    DEADLOCK: int
    DOORBELL: int
    TIME: int
    CARD: int
    HANG: int
    SLEEP: int

class Access(enum.IntEnum):
    NONE: int
    RING: int
    INSN: int
    UOP: int
    LOAD: int
    STORE: int
    COPY_SRC: int
    COPY_DST: int
    SIGNAL: int
    WAIT: int
    STAMP: int
    STATE: int

class Fate(enum.IntEnum):
    NONE: int
    PENDING: int
    RESET: int
    GIVEN_UP: int
    REMOVED: int

class Cause(enum.IntEnum):
    NONE: int
    CARD: int
    ADMIN: int
    FUNCTION: int
    BUS: int
    SLEEP: int
    WAKE: int
    UNBOUND: int
    UNPLUGGED: int
    SHUTDOWN: int

class Card(NamedTuple):
    index: Optional[int]
    node: str
    pci: Optional[str]
    @property
    def name(self) -> str: ...

class Tensor(NamedTuple):
    name: str
    format: str
    shape: Tuple[int, ...]
    scale: float
    zero: int

class Future(concurrent.futures.Future[Result]):
    def __await__(self) -> Generator[Any, None, Result]: ...

class Device:
    def __init__(self, which: Optional[str] = None) -> None: ...
    @property
    def info(self) -> Dict[str, Any]: ...
    def mem_free(self) -> int: ...
    def program(self, image: Union[str, os.PathLike[str], bytes, bytearray, memoryview],
                runs: int = 2) -> Program: ...
    def close(self) -> None: ...
    def __enter__(self) -> Device: ...
    def __exit__(self, *exception: Any) -> None: ...

class Program:
    device: Device
    runs: int
    name: str
    cycles: int
    labels: List[str]
    inputs: Tuple[Tensor, ...]
    outputs: Tuple[Tensor, ...]
    def __init__(self, image: Union[str, os.PathLike[str], bytes, bytearray, memoryview],
                 device: Union[Device, str, None] = None, runs: int = 2) -> None: ...
    def __call__(self, *inputs: Input, timeout: Optional[float] = None) -> Result: ...
    def submit(self, *inputs: Input) -> Future: ...
    def map(self, images: Iterable[Input]) -> Iterator[Result]: ...
    def batch(self, images: Input) -> Array: ...
    def close(self) -> None: ...
    def __enter__(self) -> Program: ...
    def __exit__(self, *exception: Any) -> None: ...

class CardStats(NamedTuple):
    name: str
    up: bool
    why: str
    answers: int
    faults: int
    given_back: int
    losses: int
    joins: int
    in_hand: int
    cycles: int
    cycles_in_hand: int

class Pool:
    runs: int
    name: str
    cycles: int
    labels: List[str]
    inputs: Tuple[Tensor, ...]
    outputs: Tuple[Tensor, ...]
    def __init__(self, image: Union[str, os.PathLike[str], bytes, bytearray, memoryview],
                 cards: Optional[Iterable[str]] = None, depth: int = 2) -> None: ...
    def __call__(self, *inputs: Input, timeout: Optional[float] = None) -> Result: ...
    def submit(self, *inputs: Input) -> Future: ...
    def map(self, images: Iterable[Input]) -> Iterator[Result]: ...
    def batch(self, images: Input) -> Array: ...
    def stats(self) -> List[CardStats]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Pool: ...
    def __exit__(self, *exception: Any) -> None: ...

def cards(all: bool = False) -> List[Card]: ...
def open(which: Optional[str] = None) -> Device: ...
