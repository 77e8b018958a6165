# SPDX-License-Identifier: Apache-2.0
import enum
from typing import Any, Dict, List, Optional, Tuple, Union

version: str
POOL_DEPTH_MAX: int

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

class Error(OSError): ...

class Fault(Error):
    reason: int
    access: int
    seq: int
    addr: int
    insn_index: Optional[int]
    insn: Tuple[int, int, int, int]
    queue: int
    time: int

class Lost(Error):
    fate: int
    cause: int

class Array:
    def __init__(self, format: str, shape: Tuple[int, ...], /) -> None: ...
    @property
    def shape(self) -> Tuple[int, ...]: ...
    @property
    def format(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def name(self) -> Optional[str]: ...
    @property
    def scale(self) -> float: ...
    @property
    def zero(self) -> int: ...
    def tolist(self) -> Any: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: Union[int, slice, Tuple[int, ...]], /) -> Any: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Device:
    def __init__(self, which: Optional[str] = None, /) -> None: ...
    def close(self) -> None: ...
    def check(self) -> None: ...
    def info(self) -> Dict[str, Any]: ...
    def mem_free(self) -> int: ...

class Image:
    def __init__(self, bytes: bytes, /) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def cycles(self) -> int: ...
    @property
    def labels(self) -> str: ...
    def tensors(self, output: bool, /) -> List[Tuple[str, str, Tuple[int, ...], float, int]]: ...

class Slot:
    def __init__(self, device: Device, image: Image, event: int, first: Slot = ...,
                 /) -> None: ...
    @property
    def busy(self) -> bool: ...
    @property
    def job(self) -> Any: ...
    def run(self, inputs: Tuple[Any, ...], seconds: float, /) -> Optional[Tuple[Array, ...]]: ...
    def begin(self, inputs: Tuple[Any, ...], job: Any, /) -> bool: ...
    def poll(self) -> Optional[Tuple[Array, ...]]: ...
    def close(self) -> None: ...

class Pool:
    def __init__(self, image: Image, cards: Optional[Tuple[str, ...]], depth: int,
                 entries: int, /) -> None: ...
    @property
    def fd(self) -> int: ...
    def submit(self, inputs: Tuple[Any, ...], job: Any, /) -> bool: ...
    def reap(self) -> List[Tuple[Any, Optional[Tuple[Array, ...]], Optional[Exception]]]: ...
    def stats(self) -> List[Tuple[Any, ...]]: ...
    def close(self) -> None: ...

def cards(all: bool, /) -> List[Tuple[Optional[int], str, Optional[str]]]: ...
def buffer(object: Any, /) -> Any: ...
