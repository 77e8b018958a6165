# SPDX-License-Identifier: Apache-2.0
import os
from typing import Any, Callable, List, Optional, Tuple, Union

Preprocess = Tuple[int, int, int, int, Tuple[float, ...], Tuple[float, ...]]

class Net:
    def __init__(self, model: Any, directory: Optional[str], /) -> None: ...
    def inputs(self) -> List[Tuple[str, Tuple[int, ...]]]: ...
    def compile(self, core: bytes, name: Optional[str], no_card: bool, no_prune: bool,
                cpu: Tuple[str, ...], shapes: Tuple[Tuple[str, Tuple[int, ...]], ...],
                labels: Optional[str], preprocess: Optional[Preprocess], images: int,
                image: Callable[[int, str, int], Any],
                progress: Optional[Callable[[str, int, int], Any]], /) -> bytes: ...

def picture(path: Union[str, "os.PathLike[str]"], shape: Tuple[int, ...], preprocess: Preprocess,
            /) -> bytes: ...
