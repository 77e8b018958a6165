# SPDX-License-Identifier: GPL-2.0-only
"""The Python package on the device that VTADEV_DEVICE names, "soft"."""

import array
import ast
import asyncio
import concurrent.futures
import contextlib
import copy
import ctypes
import enum
import errno
import gc
import inspect
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
import unittest
import unittest.mock
import warnings
import weakref

import images
import vtadev
from vtadev import _core

MIB = 1 << 20
PATIENCE = 300     # seconds, of which a test takes none unless it fails
X = [("x", "b", (4,))]
ECHO = images.echo(X, labels="zero\none")
DEADLOCK = images.echo(X, [images.DEADLOCK])
ENDLESS = images.echo(X, [images.ENDLESS])


class Interrupted(Exception):
    """The exception that a signal's handler raises."""


def raise_interrupted(*_):
    raise Interrupted


@contextlib.contextmanager
def handler(number, function):
    before = signal.signal(number, function)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(number, before)


class WithCard(unittest.TestCase):
    def setUp(self):
        self.card = vtadev.open()
        self.addCleanup(self.card.close)


class Cards(unittest.TestCase):
    def test_device_is_listed_with_all(self):
        card = {card.name: card for card in vtadev.cards(all=True)}["soft"]
        self.assertIsNone(card.index)
        self.assertIsNone(card.pci)
        self.assertNotIn("soft", [card.name for card in vtadev.cards()])

    def test_error_says_why_a_card_does_not_open(self):
        with self.assertRaises(vtadev.Error) as caught:
            vtadev.open("vta77")
        self.assertEqual(caught.exception.errno, errno.ENOENT)
        self.assertIsInstance(caught.exception, OSError)
        with self.assertRaisesRegex(vtadev.Error, "missing.json"):
            vtadev.open("soft:missing.json")

    def test_info_describes_the_core(self):
        with vtadev.open("soft") as card:
            self.assertEqual(card.info["card"].name, "soft")
            self.assertEqual((card.info["batch"], card.info["block"]), (1, 16))

    def test_closed_card_is_refused(self):
        card = vtadev.open()
        card.close()
        card.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            card.mem_free()
        with self.assertRaisesRegex(ValueError, "closed"):
            card.program(ECHO)


class Values(WithCard):
    """Types of inputs and of results."""

    def echo(self, format, shape, value):
        with self.card.program(images.echo([("x", format, shape)])) as program:
            return program(value)

    def test_every_type_is_copied_as_it_is(self):
        for format, values in {"f": [1.5, -2], "b": [-128, 127], "B": [0, 255],
                               "i": [-1 << 31, 1], "q": [-1 << 63, 1]}.items():
            got = self.echo(format, (2,), array.array(format, values))
            self.assertEqual(got.tolist(), values)
            self.assertEqual((got.format, got.shape), (format, (2,)))
        self.assertEqual(self.echo("?", (2,), b"\1\0").tolist(), [True, False])

    def test_raw_bytes_are_values_of_any_type(self):
        self.assertEqual(self.echo("i", (1,), bytes([1, 0, 0, 0])).tolist(), [1])
        self.assertEqual(self.echo("b", (2, 2), bytearray([1, 2, 3, 255])).tolist(),
                         [[1, 2], [3, -1]])

    def test_dimensions_of_one_in_front_may_be_missing(self):
        view = memoryview(array.array("f", [1, 2])).cast("B").cast("f", (2,))
        self.assertEqual(self.echo("f", (1, 1, 2), view).tolist(), [[[1, 2]]])

    def test_values_with_gaps_are_gathered(self):
        view = memoryview(bytes(range(8))).cast("b")[::2]
        self.assertFalse(view.c_contiguous)
        self.assertEqual(self.echo("b", (4,), view).tolist(), [0, 2, 4, 6])

    def test_other_types_and_shapes_are_refused(self):
        with self.assertRaisesRegex(TypeError, "x: .* 'b'"):
            self.echo("b", (4,), array.array("f", [1] * 4))
        with self.assertRaisesRegex(ValueError, r"x: its shape is \(4,\)"):
            self.echo("b", (4,), array.array("b", [1] * 5))
        with self.assertRaisesRegex(TypeError, "buffer"):
            self.echo("b", (4,), 3)
        with self.assertRaisesRegex(TypeError, r"x: .* \(4,\), or 4 raw .*'B' in shape \(5,\)$"):
            self.echo("b", (4,), b"12345")

    def test_result_is_a_buffer_without_a_copy(self):
        result = self.echo("f", (2, 2), array.array("f", range(4)).tobytes())
        view = memoryview(result)
        self.assertEqual((view.shape, view.format, view.strides), ((2, 2), "f", (8, 4)))
        view[1, 1] = 9
        self.assertEqual(result[1, 1], 9)
        self.assertEqual(result.tolist(), [[0, 1], [2, 9]])
        self.assertEqual((len(result), result.nbytes, result.name), (2, 16, "x.out"))
        self.assertEqual((result.scale, result.zero), (0.5, 3))
        self.assertEqual(bytes(result), bytes(view))

    def test_result_outlives_program_and_card(self):
        with vtadev.open() as card, card.program(ECHO) as program:
            result = program(b"abcd")
        self.assertEqual(bytes(result), b"abcd")

    def test_every_type_has_a_name(self):
        for format, name in {"f": "float32", "b": "int8", "B": "uint8", "i": "int32",
                             "q": "int64", "?": "bool"}.items():
            self.assertEqual(self.echo(format, (1,), bytes(struct.calcsize(format))).dtype, name)

    def test_parts_of_an_array_share_its_values(self):
        result = self.echo("i", (2, 3, 2), array.array("i", range(12)).tobytes())
        self.assertEqual(result[1].tolist(), [[6, 7], [8, 9], [10, 11]])
        self.assertEqual((result[-1, 2, 1], result[0][1][0]), (11, 2))
        self.assertEqual(result[:, 1:, 0].tolist(), [[2, 4], [8, 10]])
        self.assertEqual(result[::-1, 0, 1].tolist(), [7, 1])
        self.assertEqual((result[0:0].shape, result[0:0].tolist()), ((0, 3, 2), []))
        row = result[1, 1]
        self.assertEqual((row.name, row.scale, row.zero), ("x.out", 0.5, 3))
        memoryview(result)[1, 1, 0] = 77
        del result
        gc.collect()
        self.assertEqual(row.tolist(), [77, 9])

    def test_bad_indices_are_refused(self):
        result = self.echo("b", (2, 2), b"abcd")
        for index in (2, -3, (0, 2), (0, 0, 0)):
            with self.assertRaises(IndexError):
                result[index]
        for index in ("x", 1.0, None, (0, "x"), ...):
            with self.assertRaises(TypeError):
                result[index]
        with self.assertRaises(ValueError):
            result[::0]

    def test_array_is_iterated_by_rows(self):
        result = self.echo("b", (2, 3), bytes(range(6)))
        self.assertEqual([row.tolist() for row in result], [[0, 1, 2], [3, 4, 5]])
        self.assertEqual([value for row in result for value in row], list(range(6)))
        self.assertIn(4, result[1])

    def test_arrays_are_compared_by_shape_and_values(self):
        result = self.echo("b", (2, 2), bytes([1, 2, 3, 255]))
        self.assertEqual(result, self.echo("b", (2, 2), bytes([1, 2, 3, 255])))
        self.assertEqual(result, [[1, 2], [3, -1]])
        self.assertEqual(result, memoryview(bytes([1, 2, 3, 255])).cast("b", (2, 2)))
        self.assertEqual(result[:, 1], array.array("q", [2, -1]))
        for other in ([[1, 2], [3, 0]], [1, 2, 3, -1], result[:1], b"\1\2\3\xff", 3, None):
            self.assertNotEqual(result, other)
        with self.assertRaises(TypeError):
            result < result
        with self.assertRaises(TypeError):      # as its values may change
            hash(result)

    def test_floats_are_quantised_when_asked(self):
        with self.card.program(images.echo([("x", "b", (2, 3)), ("y", "B", (2,))])) as program:
            signed, unsigned = program.inputs       # of scale 0.5 and zero 3
            floats = array.array("f", [0, 0.25, 0.75, -1, 1000, -1000])
            quantised = signed.quantise(memoryview(floats).cast("B").cast("f", (2, 3)))
            self.assertEqual(quantised, [[3, 3, 5], [1, 127, -128]])
            self.assertEqual((quantised.scale, quantised.zero), (0.5, 3))
            self.assertEqual(unsigned.quantise(array.array("d", [-9, 126.2])), [0, 255])
            self.assertEqual(program(quantised, b"ab")[0], quantised)
            every_other = memoryview(array.array("f", range(20000)))[::2]
            self.assertEqual(unsigned.quantise(every_other).tolist(),
                             [min(4 * i + 3, 255) for i in range(10000)])
            with self.assertRaisesRegex(TypeError, "quantise"):
                program(floats, b"ab")
            for bad, error in ((array.array("f", [float("nan")]), ValueError),
                               (array.array("i", [1]), TypeError), ([1.0], TypeError)):
                with self.assertRaises(error):
                    signed.quantise(bad)
        with self.assertRaisesRegex(TypeError, "'f'"):
            vtadev.Tensor("x", "f", (1,), 0.5, 0).quantise(floats)
        for scale in (0.0, -1.0, float("nan")):
            with self.assertRaisesRegex(ValueError, "scale"):
                vtadev.Tensor("x", "b", (1,), scale, 0).quantise(floats)

    def test_array_refuses_shapes_that_cannot_be(self):
        for shape in ((0,), (-1,), (1 << 62, 1 << 62), (1,) * 9):
            with self.assertRaises((ValueError, OverflowError)):
                vtadev.Array("q", shape)
        with self.assertRaises((ValueError, TypeError)):
            vtadev.Array("q", ("a",))

    def test_buffer_has_the_order_that_is_asked_for(self):
        array, view = vtadev.Array("b", (2, 3)), (ctypes.c_char * 256)()
        api = ctypes.pythonapi
        strides, c_order, f_order, any_order = 0x18, 0x38, 0x58, 0x98  # PyBUF_*
        for flags in (0, strides, c_order, any_order):
            self.assertEqual(api.PyObject_GetBuffer(ctypes.py_object(array), view, flags), 0)
            api.PyBuffer_Release(view)
        with self.assertRaisesRegex(BufferError, "not contiguous"):
            api.PyObject_GetBuffer(ctypes.py_object(array), view, f_order)


class Numpy(WithCard):
    def setUp(self):
        super().setUp()
        try:
            import numpy
        except ImportError:
            self.skipTest("no python3-numpy")
        self.np = numpy
        self.program = self.card.program(images.echo([("x", "f", (2, 3))]))
        self.values = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)

    def test_asarray_makes_no_copy(self):
        result = self.program(self.values)
        got = self.np.asarray(result)
        self.assertTrue((got == self.values).all())
        got[0, 0] = 7
        self.assertEqual(result[0, 0], 7)

    def test_transposed_array_is_gathered(self):
        result = self.program(self.np.asfortranarray(self.values))
        self.assertTrue((self.np.asarray(result) == self.values).all())

    def test_dlpack_is_taken_and_given_back(self):
        class Tensor:
            def __init__(self, values):
                self.values = values

            def __dlpack__(self):
                return self.values.__dlpack__()

        values = self.values.copy()
        ended = weakref.ref(values)
        result = self.program(Tensor(values))
        self.assertTrue((self.np.asarray(result) == self.values).all())
        strided = Tensor(self.np.asfortranarray(values))
        self.assertTrue((self.np.asarray(self.program(strided)) == self.values).all())
        del values, strided
        gc.collect()
        self.assertIsNone(ended())

    def test_dlpack_gives_results_without_a_copy(self):
        result = self.program(self.values)
        for given in (result, result[1], result[:, ::2]):
            taken = self.np.from_dlpack(given)
            self.assertEqual(taken.tolist(), given.tolist())
            self.assertEqual(str(taken.dtype), given.dtype)
            self.assertTrue(self.np.shares_memory(taken, self.np.asarray(result)))
        memoryview(result)[0, 0] = 7
        del result, given
        gc.collect()
        self.assertEqual(taken[0, 0], 7)

    def test_dlpack_has_host_memory_and_no_stream(self):
        result = self.program(self.values)
        self.assertEqual(result.__dlpack_device__(), (1, 0))
        for copied in ({}, {"dl_device": (1, 0), "max_version": (1, 0), "stream": None}):
            result.__dlpack__(**copied)         # a capsule that nobody takes
        for refused in ({"dl_device": (2, 0)}, {"stream": 1}):
            with self.assertRaises(BufferError):
                result.__dlpack__(**refused)

        class Copied:
            def __dlpack__(self):
                return result[:, 1:].__dlpack__(copy=True)

        taken = memoryview(_core.buffer(Copied()))
        memoryview(result)[0, 1] = 9
        self.assertEqual(taken.tolist(), [[1, 2], [4, 5]])

    def test_dlpack_of_truth_values(self):
        class Tensor:
            def __dlpack__(self):
                return values.__dlpack__()

        program = self.card.program(images.echo([("x", "?", (3,))]))
        values = self.np.array([True, False, True])
        try:
            values.__dlpack__()
        except (BufferError, TypeError) as error:
            self.skipTest(f"this numpy gives none: {error}")
        self.assertEqual(program(Tensor()).tolist(), [True, False, True])

    def test_dlpack_of_another_type_is_refused(self):
        class Tensor:
            def __dlpack__(self):
                raise BufferError("another device")

        with self.assertRaisesRegex(BufferError, "another device"):
            self.program(Tensor())

    def test_batch_of_an_array(self):
        values = self.np.arange(30, dtype=self.np.float32).reshape(10, 3)
        self.assertTrue((self.np.asarray(self.program.batch(values)) == values).all())


class Programs(WithCard):
    def test_image_of_another_core_is_refused(self):
        with self.assertRaisesRegex(ValueError, "LOG_UOP_BUFF_SIZE"):
            self.card.program(images.echo(X, config=images.FRAIL))

    def test_path_is_loaded(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name, "echo.vtap")
            path.write_bytes(ECHO)
            for image in (path, str(path)):
                with vtadev.Program(image, "soft") as program:
                    self.assertEqual(bytes(program(b"abcd")), b"abcd")
        with self.assertRaises(FileNotFoundError):
            vtadev.Program(path)

    def test_program_tells_what_it_is(self):
        program = self.card.program(ECHO)
        self.assertEqual((program.name, program.labels), ("echo", ["zero", "one"]))
        self.assertEqual(program.inputs, (vtadev.Tensor("x", "b", (4,), 0.5, 3),))
        self.assertEqual(program.outputs[0].name, "x.out")

    def test_bad_image_is_refused(self):
        for image in (b"", b"abc", ECHO[:-1], ECHO[:100] + b"x" + ECHO[101:]):
            with self.assertRaises(ValueError):
                self.card.program(image)
        with self.assertRaises(ValueError):
            self.card.program(ECHO, runs=0)

    def test_image_may_change_while_it_is_loaded(self):
        image, slot = bytearray(ECHO), _core.Slot

        def loads(*args):
            image[:] = bytes(len(image))
            return slot(*args)

        def names():
            image[:] = bytes(len(image))
            yield "soft"

        with unittest.mock.patch.object(_core, "Slot", loads), self.card.program(image) as program:
            self.assertEqual(bytes(program(b"abcd")), b"abcd")
        image[:] = ECHO
        with vtadev.Pool(memoryview(image), names()) as pool:
            self.assertEqual(bytes(pool(b"abcd")), b"abcd")
        self.assertFalse(any(image))
        with self.assertRaises(TypeError):      # the extension takes nothing that may change
            _core.Image(bytearray(ECHO))

    def test_several_inputs_in_order_or_by_name(self):
        program = self.card.program(images.echo([("a", "b", (2,)), ("b", "B", (3,))]))
        for inputs in ((b"ab", b"cde"), ({"b": b"cde", "a": b"ab"},)):
            self.assertEqual([bytes(output) for output in program(*inputs)], [b"ab", b"cde"])
        for inputs in ((b"ab",), (b"ab", b"cde", b""), ({"a": b"ab"},),
                       ({"a": b"ab", "b": b"cde", "c": b""},)):
            with self.assertRaises(TypeError):
                program(*inputs)
        self.assertEqual(len(program(b"ab", b"cde")), 2)

    def test_closing_the_card_closes_its_programs(self):
        program = self.card.program(ECHO)
        free = self.card.mem_free()
        self.card.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            program(b"abcd")
        with vtadev.open() as card:
            self.assertGreater(card.mem_free(), free)

    def test_card_memory_is_free_after_with(self):
        free = self.card.mem_free()
        with self.card.program(ECHO) as program:
            program(b"abcd")
            self.assertLess(self.card.mem_free(), free)
        self.assertEqual(self.card.mem_free(), free)

    def test_runs_share_the_weights(self):
        free = self.card.mem_free()
        with self.card.program(images.echo(X, weights=MIB), runs=4) as program:
            self.assertIn(free - self.card.mem_free(), range(MIB, 2 * MIB))
            values = [bytes([i] * 4) for i in range(20)]
            self.assertEqual([bytes(result) for result in program.map(values)], values)
        self.assertEqual(self.card.mem_free(), free)

    def test_weights_stay_until_the_last_run_is_closed(self):
        event = os.eventfd(0)
        self.addCleanup(os.close, event)
        free, core = self.card.mem_free(), self.card._core
        image = _core.Image(ECHO)
        first = _core.Slot(core, image, event)
        twin = _core.Slot(core, image, event, first)
        other = _core.Slot(core, image, event, twin)
        first.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            _core.Slot(core, image, event, first)
        del first
        twin.close()
        self.assertEqual(bytes(other.run((b"abcd",), -1)[0]), b"abcd")
        self.assertLess(self.card.mem_free(), free)
        other.close()
        self.assertEqual(self.card.mem_free(), free)

    def test_twin_is_of_the_same_image_and_card(self):
        event = os.eventfd(0)
        self.addCleanup(os.close, event)
        free = self.card.mem_free()
        image, larger = _core.Image(ECHO), _core.Image(images.echo(X, weights=MIB))
        first = _core.Slot(self.card._core, image, event)
        with self.assertRaisesRegex(ValueError, "not the image"):
            _core.Slot(self.card._core, larger, event, first)
        with vtadev.open() as card, self.assertRaisesRegex(ValueError, "another card's"):
            _core.Slot(card._core, image, event, first)
        first.close()
        self.assertEqual(self.card.mem_free(), free)

    def test_dropped_program_is_freed(self):
        free = self.card.mem_free()
        program = self.card.program(ECHO)
        program.submit(b"abcd").result()
        del program
        gc.collect()
        self.assertEqual(self.card.mem_free(), free)


class Faults(WithCard):
    def test_fault_carries_the_record(self):
        program = self.card.program(DEADLOCK)
        for run in (program, lambda value: program.submit(value).result()):
            with self.assertRaisesRegex(vtadev.Fault, "deadlock") as caught:
                run(b"abcd")
            fault = caught.exception
            self.assertEqual(fault.errno, errno.EIO)
            self.assertEqual(fault.reason, vtadev.Reason.DEADLOCK)
            self.assertEqual(fault.access, vtadev.Access.NONE)
            self.assertEqual((fault.insn_index, fault.insn), (0, (11, 0, 0, 0)))
            self.assertGreater(fault.seq, 0)
            self.assertGreater(fault.time, 0)
            self.assertEqual(fault.addr, 0)

    def test_other_programs_run_on(self):
        bad, good = self.card.program(DEADLOCK), self.card.program(ECHO)
        for _ in range(5):
            with self.assertRaises(vtadev.Fault):
                bad(b"abcd")
            self.assertEqual(bytes(good(b"abcd")), b"abcd")


class Lost(unittest.TestCase):
    def test_lost_card_says_what_became_of_it(self):
        for run in (lambda program: program(b"abcd"),
                    lambda program: program.submit(b"abcd").result()):
            with vtadev.open("frail") as card:
                program = card.program(images.echo(X, config=images.FRAIL))
                for _ in range(2):
                    with self.assertRaises(vtadev.Lost) as caught:
                        run(program)
                    self.assertEqual(caught.exception.errno, errno.ENODEV)
                    self.assertEqual(caught.exception.fate, vtadev.Fate.GIVEN_UP)
                    self.assertEqual(caught.exception.cause, vtadev.Cause.CARD)
                with self.assertRaises(vtadev.Lost):
                    card.program(images.echo(X, config=images.FRAIL))
        with vtadev.open("soft") as card:
            self.assertEqual(bytes(card.program(ECHO)(b"abcd")), b"abcd")


class Pools(unittest.TestCase):
    def setUp(self):
        self.pool = vtadev.Pool(ECHO, ["soft", "soft", "soft"])
        self.addCleanup(self.pool.close)

    def test_results_come_in_order_from_all_cards(self):
        images = [bytes([i % 256, i // 256, 0, 1]) for i in range(1, 301)]
        self.assertEqual([bytes(result) for result in self.pool.map(images)], images)
        stats = self.pool.stats()
        self.assertEqual(sum(card.answers for card in stats), len(images))
        self.assertTrue(all(card.up and card.name == "soft" for card in stats))

    def test_more_than_there_is_room_for(self):
        images = [bytes([i % 256, i // 256, 0, 1]) for i in range(3000)]
        futures = [self.pool.submit(image) for image in images]
        self.assertEqual([bytes(future.result()) for future in futures], images)

    def test_event_loop(self):
        async def both():
            return await asyncio.gather(*(self.pool.submit(b"abc%d" % i) for i in range(10)))

        self.assertEqual([bytes(result) for result in asyncio.run(both())],
                         [b"abc%d" % i for i in range(10)])

    def test_call_batch_and_what_it_is(self):
        self.assertEqual(bytes(self.pool(b"abcd")), b"abcd")
        self.assertEqual(bytes(self.pool({"x": memoryview(b"abcdefgh").cast("b")[::2]})), b"aceg")
        self.assertEqual((self.pool.name, self.pool.labels, self.pool.runs),
                         ("echo", ["zero", "one"], 6))
        self.assertEqual(self.pool.inputs, (vtadev.Tensor("x", "b", (4,), 0.5, 3),))
        with self.assertRaises(TypeError):
            self.pool(b"abc")
        with self.assertRaises(TypeError):
            self.pool(b"abcd", b"abcd")

    def test_what_is_no_good_is_refused(self):
        for image, cards in ((b"", ["soft"]), (ECHO[:-1], ["soft"]), (ECHO, ["none such"]),
                             (ECHO, [])):
            with self.assertRaises(ValueError):
                vtadev.Pool(image, cards)
        with self.assertRaises(ValueError):
            vtadev.Pool(ECHO, ["soft"], depth=0)
        for cards in ([3], "soft"):
            with self.assertRaisesRegex(TypeError, "name"):
                vtadev.Pool(ECHO, cards)
        with self.assertRaisesRegex(ValueError, "1 to 256"):
            vtadev.Pool(ECHO, ["soft"], depth=257)

    def test_fault_is_the_requests_and_carries_the_record(self):
        with vtadev.Pool(DEADLOCK, ["soft", "soft"]) as pool:
            for _ in range(3):
                with self.assertRaises(vtadev.Fault) as caught:
                    pool(b"abcd")
                self.assertEqual(caught.exception.reason, vtadev.Reason.DEADLOCK)
            self.assertEqual(sum(card.faults for card in pool.stats()), 3)

    def test_closing_gives_up_what_is_in_flight(self):
        with vtadev.Pool(ENDLESS, ["soft"]) as pool:
            futures = [pool.submit(b"abcd") for _ in range(5)]
            with self.assertRaises(TimeoutError):
                pool(b"abcd", timeout=0.01)
        for future in futures:
            with self.assertRaises((ValueError, concurrent.futures.CancelledError)):
                future.result()
        with self.assertRaisesRegex(ValueError, "closed"):
            pool(b"abcd")

    def test_callback_closes_the_pool_and_cannot_wait(self):
        seen = []

        def callback(future):
            try:
                self.pool(b"abcd")
            except RuntimeError as error:
                seen.append(error)
            self.pool.close()

        future = self.pool.submit(b"abcd")
        future.add_done_callback(callback)
        self.assertEqual(bytes(future.result()), b"abcd")
        self.pool._engine.thread.join()
        # It was called by this thread if the run was done already.
        self.assertLessEqual(len(seen), 1)

    def test_child_is_refused(self):
        pid = os.fork()
        if not pid:
            try:
                self.pool(b"abcd")
            except RuntimeError:
                os._exit(0)
            os._exit(1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(bytes(self.pool(b"abcd")), b"abcd")

    def test_dropped_pool_is_closed(self):
        pool = vtadev.Pool(ECHO, ["soft"])
        thread = pool._engine.thread
        pool.submit(b"abcd").result()
        del pool
        gc.collect()
        thread.join(10)
        self.assertFalse(thread.is_alive())


class Measurements(unittest.TestCase):
    def test_rate(self):
        rate = vtadev.bench(ECHO, b"abcd", cards=["soft", "soft"], depth=2, warmup=0, runs=20)
        self.assertEqual((rate.cards, rate.runs, rate.lost), (2, 20, 0))
        self.assertTrue(0 < rate.min <= rate.p50 <= rate.p90 <= rate.p99 <= rate.max <= rate.wall)
        self.assertAlmostEqual(rate.per_second, 20 / rate.wall)
        self.assertGreater(vtadev.bench(ECHO, cards=["soft"], seconds=0.01).runs, 0)

    def test_parts(self):
        parts = vtadev.parts(ECHO, {"x": b"abcd"}, card="soft", runs=3)
        self.assertEqual(parts.runs, 3)
        self.assertGreater(parts.to_card, 0)
        self.assertLessEqual(parts.compute + parts.copy + parts.cpu, parts.total)

    def test_what_is_no_good_is_refused(self):
        for keywords in ({"depth": 0}, {"runs": 0}, {"warmup": -1}, {"seconds": 0},
                         {"seconds": 1e9}, {"cards": ["none such"]}, {"cards": []}):
            with self.assertRaises(ValueError):
                vtadev.bench(ECHO, **{"cards": ["soft"], **keywords})
        for inputs in ((b"abc",), (b"abcd", b"abcd"), ({"y": b"abcd"},)):
            with self.assertRaises(TypeError):
                vtadev.bench(ECHO, *inputs, cards=["soft"], runs=1)
        with self.assertRaises(TypeError):
            vtadev.bench(ECHO, cards="soft")
        with self.assertRaises(ValueError):
            vtadev.parts(ECHO, card="soft", runs=0)

    def test_fault(self):
        with self.assertRaisesRegex(vtadev.Error, "deadlock"):
            vtadev.bench(DEADLOCK, cards=["soft"], runs=1)


class Input:
    """One whose values are asked for by function(), which may raise."""

    def __init__(self, function):
        self.function = function

    def __dlpack__(self):
        self.function()
        raise BufferError("no values")


class FullPools(unittest.TestCase):
    """A pool that has room for one run at a time, whose thread is held in a callback."""

    def setUp(self):
        self.go = threading.Event()
        self.addCleanup(self.go.set)
        with unittest.mock.patch.object(vtadev._pool, "_POOL_REQUESTS", 1):
            self.pool = vtadev.Pool(ECHO, ["soft"])
        self.addCleanup(self.pool.close)
        self.held = False
        while not self.held:
            self.submit_and_hold()
        # The pool has the first; the second waits for it.
        self.others = [self.pool.submit(b"abcd"), self.pool.submit(b"abcd")]

    def submit_and_hold(self):
        called = threading.Event()

        def callback(_):
            self.held = threading.current_thread() is self.pool._engine.thread
            called.set()
            if self.held:
                self.go.wait()

        self.pool.submit(b"abcd").add_done_callback(callback)
        called.wait()

    def works(self):
        for future in self.others:
            self.assertEqual(bytes(future.result(PATIENCE)), b"abcd")
        self.assertEqual(bytes(self.pool(b"abcd", timeout=PATIENCE)), b"abcd")

    def ended(self, *futures):
        """Results of these, by concurrent.futures.wait()."""
        done, left = concurrent.futures.wait(futures, PATIENCE)
        self.assertEqual(left, set())
        return [future.cancelled() for future in futures]

    def test_waiting_future_is_cancelled(self):
        future = self.pool.submit(b"abcd")
        self.assertTrue(future.cancel())
        self.go.set()
        self.assertEqual(self.ended(future), [True])
        self.works()

    def test_callback_of_a_bad_input_may_submit(self):
        future = self.pool.submit(b"abc")
        future.add_done_callback(lambda _: self.others.append(self.pool.submit(b"abcd")))
        self.go.set()
        self.assertIsInstance(future.exception(PATIENCE), TypeError)
        self.works()

    def test_input_may_cancel_its_future(self):
        future = self.pool.submit(Input(lambda: future.cancel()))
        self.go.set()
        self.assertEqual(self.ended(future), [True])
        self.works()

    def test_input_may_close_the_pool(self):
        futures = [self.pool.submit(Input(self.pool.close)), self.pool.submit(b"abcd")]
        self.go.set()
        self.assertEqual(self.ended(*futures), [True, True])
        self.pool._engine.thread.join(PATIENCE)
        self.assertFalse(self.pool._engine.thread.is_alive())

    def test_close_cancels_what_waits(self):
        futures = [self.pool.submit(b"abcd"), self.pool.submit(b"abcd")]
        close = threading.Thread(target=self.pool.close)
        close.start()
        while not self.pool._engine.closed:
            pass
        self.go.set()
        close.join()
        self.assertEqual(self.ended(*futures), [True, True])
        self.assertEqual(self.ended(*self.others), [False, True])


class SilentSlot:
    """A _core.Slot whose card has lost the doorbell: a run ends by polling, without an event."""

    def __init__(self, *_):
        self.job, self.polls = None, 0

    def run(self, *_):
        """None: the slot is in use, so that calls are futures as well."""

    def begin(self, inputs, job):
        if self.job:
            return False
        self.job, self.polls = job, 0
        return True

    def poll(self):
        self.polls += 1
        if not self.job or self.polls < 3:
            return None
        self.job = None
        return (b"done",)

    def close(self):
        self.job = None


class LostDoorbells(unittest.TestCase):
    def setUp(self):
        with unittest.mock.patch.object(_core, "Slot", SilentSlot):
            self.engine = vtadev._engine._Engine(None, None, 1)
        self.addCleanup(self.engine.close)

    def test_run_is_polled_by_a_thread(self):
        self.assertEqual(self.engine.submit(None, ()).result(PATIENCE), b"done")
        while not self.engine.idle:
            time.sleep(0.01)
        self.assertEqual(self.engine.run(None, (), PATIENCE), b"done")

    def test_run_is_polled_by_an_event_loop(self):
        async def main():
            return await asyncio.wait_for(self.engine.submit(None, ()), PATIENCE)

        self.assertEqual(asyncio.run(main()), b"done")
        self.assertIsNone(self.engine.thread)


class Waits(WithCard):
    def setUp(self):
        super().setUp()
        self.endless = self.card.program(ENDLESS)

    def test_timeout(self):
        for timeout in (0, 0.01):
            with self.assertRaises(TimeoutError):
                self.endless(b"abcd", timeout=timeout)

    def test_runs_that_were_given_up_keep_their_places(self):
        for _ in range(self.endless.runs + 2):
            with self.assertRaises(TimeoutError):
                self.endless(b"abcd", timeout=0)
        self.assertFalse(self.endless.submit(b"abcd").running())

    def test_direct_call_does_not_take_the_place_of_a_future(self):
        program = self.card.program(ECHO, runs=1)
        for i in range(200):
            future = program.submit(bytes([1, i, 0, 0]))
            self.assertEqual(bytes(program(bytes([2, i, 0, 0]))), bytes([2, i, 0, 0]))
            self.assertEqual(bytes(future.result()), bytes([1, i, 0, 0]))

    def test_place_is_free_when_the_given_up_run_ends(self):
        program = self.card.program(ECHO, runs=1)
        for timeout in (0, 0, None):
            with contextlib.suppress(TimeoutError):
                result = program(b"abcd", timeout=timeout)
        self.assertEqual(bytes(result), b"abcd")

    def test_signal_interrupts_a_wait(self):
        with handler(signal.SIGALRM, raise_interrupted):
            with self.assertRaises(Interrupted):
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                self.endless(b"abcd")

    def test_signal_interrupts_a_future(self):
        future = self.endless.submit(b"abcd")
        with handler(signal.SIGALRM, raise_interrupted):
            with self.assertRaises(Interrupted):
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                future.result()
        self.assertFalse(future.done())

    def test_keyboard_interrupt(self):
        # The parent process of the tests may ignore SIGINT.
        with handler(signal.SIGINT, signal.default_int_handler), \
                handler(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT)):
            with self.assertRaises(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                self.endless(b"abcd")

    def test_signal_handler_that_returns_does_not_end_a_wait(self):
        seen = []
        with handler(signal.SIGALRM, lambda *_: seen.append(1)):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            with self.assertRaises(TimeoutError):
                self.endless(b"abcd", timeout=0.3)
        self.assertEqual(seen, [1])

    def test_other_threads_run_during_a_wait(self):
        counted = threading.Event()
        thread = threading.Thread(target=lambda: (sum(range(1000)), counted.set()))
        with handler(signal.SIGALRM, raise_interrupted):
            waiter = self.endless.submit(b"abcd")
            thread.start()
            self.assertTrue(counted.wait(60))
            thread.join()
            self.assertFalse(waiter.done())

    def test_close_ends_a_wait_of_another_thread(self):
        errors, started = [], threading.Event()

        def wait():
            started.set()
            try:
                self.endless(b"abcd")
            except ValueError as error:
                errors.append(str(error))

        thread = threading.Thread(target=wait)
        thread.start()
        started.wait()
        while not any(place.busy for place in self.endless._engine.places):
            pass
        self.endless.close()
        thread.join()
        self.assertIn("closed", errors[0])

    def begun(self, futures):
        """Returns when the program's thread has begun these runs."""
        while not all(future.running() for future in futures):
            time.sleep(0.001)

    def test_close_answers_futures(self):
        futures = [self.endless.submit(b"abcd") for _ in range(4)]
        self.begun(futures[:2])
        self.endless.close()
        for future in futures[:2]:
            self.assertIsInstance(future.exception(), ValueError)
        for future in futures[2:]:
            self.assertTrue(future.cancelled())
        self.assertEqual(len(concurrent.futures.wait(futures, PATIENCE).done), 4)

    def test_waiting_future_is_cancelled(self):
        futures = [self.endless.submit(b"abcd") for _ in range(3)]
        self.begun(futures[:2])
        self.assertFalse(futures[0].cancel())
        self.assertTrue(futures[2].cancel())
        with self.assertRaises(concurrent.futures.CancelledError):
            futures[2].result()

    def test_input_may_cancel_its_future(self):
        program = self.card.program(ECHO)
        with unittest.mock.patch.object(program._engine, "pump"):   # It begins later.
            future = program.submit(Input(lambda: future.cancel()))
        program._engine.pump()
        self.assertEqual(concurrent.futures.wait([future], PATIENCE).done, {future})
        self.assertTrue(future.cancelled())

    def test_future_times_out(self):
        with self.assertRaises(concurrent.futures.TimeoutError):
            self.endless.submit(b"abcd").result(timeout=0.01)


class Futures(WithCard):
    def setUp(self):
        super().setUp()
        self.program = self.card.program(ECHO)
        self.values = [bytes([i, 1, 2, 3]) for i in range(50)]

    def test_results_are_those_of_their_inputs(self):
        futures = [self.program.submit(value) for value in self.values]
        self.assertEqual([bytes(future.result()) for future in futures], self.values)

    def test_concurrent_futures_wait(self):
        futures = {self.program.submit(value): value for value in self.values}
        done, left = concurrent.futures.wait(futures, timeout=60)
        self.assertEqual((len(done), len(left)), (50, 0))
        for future in concurrent.futures.as_completed(futures):
            self.assertEqual(bytes(future.result()), futures[future])

    def test_map_keeps_the_order(self):
        self.assertEqual([bytes(result) for result in self.program.map(self.values)],
                         self.values)
        self.assertEqual(list(self.program.map([])), [])

    def test_map_may_be_left(self):
        for result in self.program.map(self.values):
            self.assertEqual(bytes(result), self.values[0])
            break
        self.assertEqual(bytes(self.program(b"abcd")), b"abcd")

    def test_batch_fills_up_the_last(self):
        images_of = memoryview(bytes(range(10))).cast("b")
        self.assertEqual(self.program.batch(images_of).tolist(), list(range(10)))
        with self.assertRaises(ValueError):
            self.program.batch(b"")

    def test_batch_of_a_list(self):
        program = self.card.program(images.echo([("x", "f", (4, 2))]))
        rows = [array.array("f", [i, -i]) for i in range(7)]
        rows[2] = rows[2].tobytes()
        rows[3] = memoryview(rows[3]).cast("B").cast("f", (1, 2))
        values = [[i, -i] for i in range(7)]
        with vtadev.Pool(images.echo([("x", "f", (4, 2))]), ["soft"]) as pool:
            for runner in (program, pool):
                self.assertEqual(runner.batch(rows), values)
                self.assertEqual(runner.batch(tuple(rows[:4])), values[:4])
                self.assertEqual(runner.batch(runner.batch(rows)[1:4]), values[1:4])
        for bad, error in (([], ValueError), ([rows[0], 3], TypeError),
                           ([rows[0], array.array("f", [1])], ValueError),
                           ([rows[0], array.array("i", [1, 2])], TypeError)):
            with self.assertRaisesRegex(error, r"x\[1\]|image|__dlpack__"):
                program.batch(bad)

    def test_batch_checks_the_last_as_the_others(self):
        program = self.card.program(images.echo([("x", "f", (4, 2))]))
        for wrong in (array.array("i", range(8)), array.array("d", range(8)),
                      array.array("i", range(4))):
            view = memoryview(wrong).cast("B").cast(wrong.typecode, (len(wrong) // 2, 2))
            with self.assertRaises(TypeError):
                program.batch(view)
        rows = memoryview(array.array("f", range(6))).cast("B")
        with self.assertRaises(ValueError):
            program.batch(rows.cast("f", (2, 3)))
        self.assertEqual(program.batch(rows.cast("f", (3, 2))).tolist(),
                         [[0, 1], [2, 3], [4, 5]])

    def test_odd_arguments_are_refused(self):
        with self.assertRaisesRegex(ValueError, "null"):
            vtadev.Pool(ECHO, ["soft\0x"])
        for opened in (lambda: vtadev.open("soft\0x"), lambda: vtadev.Program(ECHO, "soft\0x"),
                       lambda: vtadev.Program("a\0b"), lambda: vtadev.Array("b\0", (4,))):
            with self.assertRaisesRegex(ValueError, "null"):
                opened()
        free = self.card.mem_free()
        for number in (float("nan"), float("inf"), 1.5, "2", None):
            with self.assertRaises((TypeError, ValueError)):
                self.card.program(ECHO, runs=number)
            with self.assertRaises((TypeError, ValueError)):
                vtadev.Pool(ECHO, ["soft"], depth=number)
            with self.assertRaises(TypeError):
                vtadev.Array("b", (number,))
        self.assertEqual(self.card.mem_free(), free)
        with self.assertRaises(ValueError):
            vtadev.Array("x", (4,))
        with vtadev.Pool(ECHO, ["soft"]) as pool:
            for runner in (self.program, pool):
                with self.assertRaisesRegex(ValueError, "nan"):
                    runner(b"abcd", timeout=float("nan"))
                for copied in (copy.copy, copy.deepcopy):
                    with self.assertRaisesRegex(TypeError, "copied"):
                        copied(runner)
        with self.assertRaisesRegex(ValueError, r"\(4,\), not \(2, 2\)"):
            self.program(memoryview(b"abcd").cast("b", (2, 2)))

    def submit_with_callback(self, runner, callback):
        """A future whose callback the service thread calls: it needs the lock before that."""
        with runner._engine.lock:
            future = runner.submit(b"abcd")
            future.add_done_callback(callback)
        return future

    def test_callback_that_exits_ends_no_thread(self):
        threads = []

        def callback(_):
            threads.append(threading.current_thread())
            sys.exit(1)

        with vtadev.Pool(ECHO, ["soft"]) as pool, \
                unittest.mock.patch.object(threading, "excepthook") as hook:
            for runner in (self.program, pool):
                for _ in range(3):
                    future = self.submit_with_callback(runner, callback)
                    self.assertEqual(bytes(future.result(PATIENCE)), b"abcd")
                self.assertEqual(bytes(runner.submit(b"abcd").result(PATIENCE)), b"abcd")
                self.assertEqual(set(threads), {runner._engine.thread})
                self.assertTrue(runner._engine.thread.is_alive())
                threads.clear()
            self.assertEqual(hook.call_count, 6)
            self.assertEqual({call.args[0].exc_type for call in hook.mock_calls}, {SystemExit})

    def test_close_waits_for_no_callback_for_ever(self):
        go, called = threading.Event(), threading.Event()
        self.addCleanup(go.set)

        def callback(_):
            called.set()
            go.wait()

        for runner in (self.program, vtadev.Pool(ECHO, ["soft"])):
            self.submit_with_callback(runner, callback)
            called.wait()
            others = [runner.submit(b"abcd") for _ in range(5)]
            with unittest.mock.patch.object(vtadev._future, "_CLOSE_SECONDS", 0.01), \
                    self.assertWarnsRegex(RuntimeWarning, "callback"):
                runner.close()
            for future in others:
                self.assertTrue(future.done())
            go.set()
            runner._engine.thread.join(PATIENCE)
            self.assertFalse(runner._engine.thread.is_alive())
            go.clear()
            called.clear()

    def test_dropped_program_waits_for_no_callback(self):
        go, called = threading.Event(), threading.Event()
        self.addCleanup(go.set)
        gc.collect()        # what other tests have left
        files = len(os.listdir("/proc/self/fd"))

        def callback(_):
            called.set()
            go.wait()

        for make in (lambda: self.card.program(ECHO), lambda: vtadev.Pool(ECHO, ["soft"])):
            runner = make()
            self.submit_with_callback(runner, callback)
            thread = runner._engine.thread
            called.wait()
            with warnings.catch_warnings(record=True) as seen:
                del runner
                gc.collect()        # which a thread may do that has any lock
            self.assertEqual(seen, [])
            self.assertTrue(thread.is_alive())
            go.set()
            thread.join(PATIENCE)
            self.assertFalse(thread.is_alive())
            go.clear()
            called.clear()
        gc.collect()
        self.assertEqual(len(os.listdir("/proc/self/fd")), files)

    def test_callbacks_that_raise_leave_close_complete(self):
        free = self.card.mem_free()
        program = self.card.program(ECHO)
        with vtadev.Pool(ENDLESS, ["soft"]) as pool:
            for runner in (self.card.program(ENDLESS), pool):
                futures = [runner.submit(b"abcd") for _ in range(5)]
                for future in futures:
                    future.add_done_callback(lambda _: sys.exit(1))
                with self.assertRaises(SystemExit):
                    runner.close()
                for future in futures:
                    with self.assertRaises((ValueError, concurrent.futures.CancelledError)):
                        future.result(PATIENCE)
                runner.close()
        program.close()
        self.assertEqual(self.card.mem_free(), free)

    def test_close_answers_a_run_that_begins_meanwhile(self):
        program = self.card.program(ENDLESS, runs=1)
        place = program._engine.places[0]

        class Closing:
            job = None

            def begin(self, inputs, job):
                begun = place.begin(inputs, job)
                program.close()     # which sees no job of this place
                return begun

            def poll(self):
                return None

            def close(self):
                place.close()

        program._engine.places[0] = Closing()
        with self.assertRaisesRegex(ValueError, "closed"):
            program.submit(b"abcd").result(PATIENCE)

    def test_stuck_future_blocks_no_other(self):
        """As concurrent.futures.wait() may leave one, when a signal's handler raises in it."""
        def hold():
            with contextlib.ExitStack() as last:
                for future in stuck:
                    future._condition.acquire()
                    last.callback(future._condition.release)
                held.set()
                go.wait()

        self.addCleanup(lambda: go.set())
        for runner in (self.program, vtadev.Pool(ECHO, ["soft"])):
            held, go = threading.Event(), threading.Event()
            with unittest.mock.patch.object(vtadev._future, "_STUCK_SECONDS", 0.01):
                with runner._engine.lock:       # so that none is done yet
                    stuck = [runner.submit(b"abcd") for _ in range(5)]
                    thread = threading.Thread(target=hold)
                    thread.start()
                    held.wait()
                for _ in range(3):
                    self.assertEqual(bytes(runner.submit(b"abcd").result(PATIENCE)), b"abcd")
                # Each of them has begun, and the others wait for the pool's thread.
                runner.close()
            go.set()
            thread.join()
            for future in stuck:
                self.assertEqual(bytes(future.result(PATIENCE)), b"abcd")

    def test_timeouts_beyond_what_threads_can_wait(self):
        with vtadev.Pool(ECHO, ["soft"]) as pool:
            for runner in (self.program, pool):
                for timeout in (float("inf"), 1e300, 10 ** 400):
                    self.assertEqual(bytes(runner(b"abcd", timeout=timeout)), b"abcd")
                    future = self.submit_with_callback(runner, lambda _: None)
                    self.assertEqual(bytes(future.result(timeout)), b"abcd")
                for ask in (runner.submit(b"abcd").result, runner.submit(b"abcd").exception):
                    with self.assertRaisesRegex(ValueError, "nan"):
                        ask(float("nan"))

    def test_signals_that_raise_leave_no_future_locked(self):
        with vtadev.Pool(ECHO, ["soft"]) as pool, handler(signal.SIGALRM, raise_interrupted):
            for runner in (self.program, pool):
                left = list(range(300))
                while left:
                    # The timer runs only in the block. It is for one signal, so that the next
                    # block is entered in peace.
                    with contextlib.suppress(Interrupted, RuntimeError):
                        while left:
                            signal.setitimer(signal.ITIMER_REAL, 50e-6 * (1 + left.pop() % 20))
                            for _ in range(20):     # Python itself may drop an exception
                                runner.submit(b"abcd").result(20)
                        signal.setitimer(signal.ITIMER_REAL, 0)
                self.assertEqual(bytes(runner.submit(b"abcd").result(20)), b"abcd")

    def test_bad_input_is_the_futures_exception(self):
        self.assertIsInstance(self.program.submit(b"").exception(), TypeError)
        self.assertEqual(bytes(self.program.submit(b"abcd").result()), b"abcd")

    def test_callback_may_submit(self):
        done = threading.Event()
        results = []

        def again(future):
            results.append(bytes(future.result()))
            if len(results) < 10:
                self.program.submit(b"abcd").add_done_callback(again)
            else:
                done.set()

        self.program.submit(b"abcd").add_done_callback(again)
        self.assertTrue(done.wait(60))
        self.assertEqual(results, [b"abcd"] * 10)

    def test_callback_that_would_wait_for_ever_is_told(self):
        engine = self.program._engine
        # As within pump(), which calls callbacks.
        engine.pumper = threading.get_ident()
        future = self.program.submit(b"abcd")
        with self.assertRaisesRegex(RuntimeError, "callback"):
            future.result()
        engine.pumper = None
        engine.pump()
        self.assertEqual(bytes(future.result()), b"abcd")

    def test_program_stays_until_its_future_is_done(self):
        future = self.card.program(ECHO).submit(b"abcd")
        gc.collect()
        self.assertEqual(bytes(future.result()), b"abcd")

    def test_many_threads(self):
        errors = []

        def work(n):
            try:
                for i in range(50):
                    value = bytes([n, i, 0, 1])
                    run = self.program if i % 2 else lambda v: self.program.submit(v).result()
                    if bytes(run(value)) != value:
                        errors.append((n, i))
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])


class Asyncio(WithCard):
    def setUp(self):
        super().setUp()
        self.program = self.card.program(ECHO)
        self.values = [bytes([i, 1, 2, 3]) for i in range(50)]

    async def gather(self):
        results = await asyncio.gather(*map(self.program.submit, self.values))
        self.assertEqual([bytes(result) for result in results], self.values)

    def test_await_needs_no_thread(self):
        threads = threading.active_count()
        asyncio.run(self.gather())
        self.assertIsNone(self.program._engine.thread)
        self.assertEqual(threading.active_count(), threads)

    def test_one_event_loop_after_another(self):
        for _ in range(3):
            asyncio.run(self.gather())
        self.assertLessEqual(len(self.program._engine.loops), 1)

    def test_event_loops_of_two_threads(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(asyncio.run, self.gather()) for _ in range(2)]:
                done.result()

    def test_future_from_outside_the_loop(self):
        async def take(future):
            return bytes(await future)

        self.assertEqual(asyncio.run(take(self.program.submit(b"abcd"))), b"abcd")

    def test_loop_runs_other_tasks_meanwhile(self):
        endless = self.card.program(ENDLESS)

        async def main():
            waiter = asyncio.ensure_future(take(endless.submit(b"abcd")))
            for _ in range(1000):
                await asyncio.sleep(0)
            self.assertFalse(waiter.done())
            endless.close()
            with self.assertRaisesRegex(ValueError, "closed"):
                await waiter

        async def take(future):
            return await future

        asyncio.run(main())

    def test_await_times_out(self):
        endless = self.card.program(ENDLESS)
        with self.assertRaises(asyncio.TimeoutError):
            asyncio.run(asyncio.wait_for(endless.submit(b"abcd"), 0.01))

    def test_fault_is_raised_where_it_is_awaited(self):
        async def main():
            await self.card.program(DEADLOCK).submit(b"abcd")

        with self.assertRaises(vtadev.Fault):
            asyncio.run(main())

    def test_future_whose_loop_has_ended(self):
        async def main():
            return self.program.submit(b"abcd")

        self.assertEqual(bytes(asyncio.run(main()).result()), b"abcd")

    def test_close_within_the_loop(self):
        async def main():
            with vtadev.open() as card, card.program(ECHO) as program:
                return bytes(await program.submit(b"abcd"))

        self.assertEqual(asyncio.run(main()), b"abcd")


class Fork(WithCard):
    def child(self, function):
        """The exit status of a child that calls function: 0 if that returned true."""
        pid = os.fork()
        if not pid:
            status = 1
            signal.alarm(PATIENCE)
            try:
                status = 0 if function() else 1
            finally:
                os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def refused(self, function):
        try:
            function()
        except RuntimeError as error:
            return "fork" in str(error)
        return False

    def test_child_is_refused_and_the_parent_goes_on(self):
        program = self.card.program(ECHO)
        program.submit(b"abcd").result()
        self.assertEqual(self.child(lambda: self.refused(lambda: program(b"abcd"))), 0)
        self.assertEqual(self.child(lambda: self.refused(lambda: program.submit(b"ab"))), 0)
        self.assertEqual(self.child(lambda: self.refused(self.card.mem_free)), 0)
        self.assertEqual(bytes(program(b"abcd")), b"abcd")

    def test_child_is_refused_whatever_other_threads_did(self):
        def hold():
            with loaded._engine.lock:
                held.set()
                go.wait()

        pool = vtadev.Pool(ENDLESS, ["soft"])
        self.addCleanup(pool.close)
        for loaded in (self.card.program(ENDLESS), pool):
            future = loaded.submit(b"abcd")
            held, go = threading.Event(), threading.Event()
            self.addCleanup(go.set)
            thread = threading.Thread(target=hold)
            thread.start()
            held.wait()
            for use in (lambda: loaded.submit(b"abcd"), future.result, future.exception,
                        lambda: asyncio.run(asyncio.wait_for(future, None))):
                self.assertEqual(self.child(lambda: self.refused(use)), 0)
            self.assertEqual(self.child(lambda: loaded.close() is None), 0)
            go.set()
            thread.join()

    def test_child_closes_and_the_parent_goes_on(self):
        program = self.card.program(ECHO)
        program.submit(b"abcd").result()

        def close():
            program.close()
            self.card.close()
            return True

        self.assertEqual(self.child(close), 0)
        self.assertEqual(bytes(program(b"abcd")), b"abcd")
        self.assertEqual(bytes(program.submit(b"abcd").result()), b"abcd")

    def test_child_that_exits_leaves_the_parents(self):
        done = subprocess.run([sys.executable, pathlib.Path(__file__).with_name("forks.py")],
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stderr, done.stdout),
                         (0, "", "the parent goes on\n"))

    @unittest.skipIf(os.environ["VTADEV_DEVICE"].startswith("opencl"),
                     "OpenCL cannot be used in a child")
    def test_child_opens_for_itself(self):
        def work():
            with vtadev.open() as card, card.program(ECHO) as program:
                return bytes(program.submit(b"abcd").result()) == b"abcd"

        self.assertEqual(self.child(work), 0)


class Stubs(unittest.TestCase):
    def declared(self, path):
        """name -> names in it, of a stub's classes and functions."""
        return {node.name: {getattr(part, "name", None) or part.target.id for part in node.body
                            if isinstance(part, (ast.FunctionDef, ast.AnnAssign))}
                if isinstance(node, ast.ClassDef) else set()
                for node in ast.parse(path.read_text()).body
                if isinstance(node, (ast.ClassDef, ast.FunctionDef))}

    def test_stubs_declare_what_there_is(self):
        here = pathlib.Path(vtadev.__file__).parent
        self.assertTrue((here / "py.typed").exists())
        for name, parts in self.declared(here / "_core.pyi").items():
            thing = getattr(_core, name)
            if isinstance(thing, enum.EnumMeta):
                self.assertEqual(set(thing.__members__), parts, name)
            elif not issubclass(thing if isinstance(thing, type) else int, (OSError, tuple)):
                public = {part for part in vars(thing) if not part.startswith("_") and
                          not hasattr(thing.__base__, part)} \
                    if isinstance(thing, type) else set()
                self.assertLessEqual(public, parts, name)

    def test_public_calls_have_annotations(self):
        for name in vtadev.__all__:
            thing = getattr(vtadev, name)
            members = inspect.getmembers(thing) if isinstance(thing, type) else [(name, thing)]
            for member, call in members:
                call = call.fget if isinstance(call, property) else call
                if not inspect.isfunction(call) or call.__module__ != "vtadev" or \
                        member.startswith("_") and member not in ("__init__", "__call__"):
                    continue
                signature = inspect.signature(call)
                bare = [p.name for p in signature.parameters.values()
                        if p.name != "self" and p.annotation is p.empty]
                self.assertEqual(bare, [], f"{name}.{member}")
                self.assertIsNot(signature.return_annotation, signature.empty, f"{name}.{member}")


class Leaks(unittest.TestCase):
    """Nothing grows with the number of calls."""

    def setUp(self):
        # asyncio.run() leaves strings in Python's cache of methods each time.
        self.loop = asyncio.new_event_loop()
        self.addCleanup(self.loop.close)

    def round(self):
        with vtadev.open() as card, card.program(ECHO) as program:
            card.info
            for _ in range(4):
                program(b"abcd").tolist()
                memoryview(program(memoryview(b"abcdefgh").cast("b")[::2]))
                list(program.map([b"abcd"] * 3))
            for bad in (b"", 3, array.array("f", [1] * 4)):
                with contextlib.suppress(TypeError):
                    program(bad)
            self.loop.run_until_complete(self.take(program))
        with vtadev.open() as card, card.program(DEADLOCK) as program:
            with contextlib.suppress(vtadev.Fault):
                program(b"abcd")
            with contextlib.suppress(ValueError):
                card.program(ECHO[:-1])
        with contextlib.suppress(vtadev.Error):
            vtadev.open("vta77")
        with vtadev.Pool(ECHO, ["soft", "soft"]) as pool:
            list(pool.map([b"abcd"] * 5))
            with contextlib.suppress(TypeError):
                pool(b"abc")
            pool.stats()
        vtadev.cards(all=True)

    async def take(self, program):
        await program.submit(b"abcd")

    def test_memory_descriptors_and_threads(self):
        for _ in range(3):
            self.round()
        gc.collect()
        files, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
        tracemalloc.start()
        self.round()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        rounds = 100
        for _ in range(rounds):
            self.round()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        # The smallest object has 24 bytes; Python's own caches take some hundred in all.
        self.assertLess(grown, rounds * 24)
        self.assertEqual(len(os.listdir("/proc/self/fd")), files)
        self.assertEqual(threading.active_count(), threads)
