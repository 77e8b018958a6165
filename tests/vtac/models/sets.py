#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
sets.py NAME [FOLDER...] --out CACHE [--pictures FACTOR OFFSET]

The images of a model, as its input takes them (float32, [N][C][H][W]; no picture is in
two of them):
    NAME-calib.npy  to calibrate with; the compiler chooses its ways by these alone
    NAME-test.npy   to develop the compiler with
    NAME-held.npy   to measure what it is worth: nothing was ever chosen by these
and NAME-test.labels and NAME-held.labels, a line for each image: the classes that are
right, by commas (151-268: all of them), or "-" if only agreement with float is measured.
The same on every machine. With --pictures, some of the test images that are there, as PNG
files in NAME-pictures.
"""
import argparse
import json
import os
import struct

import numpy as np
from PIL import Image, ImageDraw, ImageFont

HERE = os.path.dirname(os.path.abspath(__file__))


def save(out, name, what, images, labels=None):
    array = np.ascontiguousarray(np.stack(images), dtype="<f4")
    np.save(os.path.join(out, f"{name}-{what}.npy"), array)
    print(f"models: {name}-{what}.npy: {'x'.join(map(str, array.shape))}")
    if labels is not None:
        with open(os.path.join(out, f"{name}-{what}.labels"), "w", encoding="ascii") as f:
            f.writelines(f"{label}\n" for label in labels)


def idx(path):
    with open(path, "rb") as f:
        data = f.read()
    dims = struct.unpack_from(f">{data[3]}I", data, 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(dims)


def mnist(out, folders):
    train = idx(os.path.join(folders[0], "train-images-idx3-ubyte"))[:64]
    test = idx(os.path.join(folders[0], "t10k-images-idx3-ubyte"))
    labels = idx(os.path.join(folders[0], "t10k-labels-idx1-ubyte"))
    save(out, "mnist", "calib", train[:, None] / 255.0)
    save(out, "mnist", "test", test[:1000, None] / 255.0, labels[:1000])
    save(out, "mnist", "held", test[1000:, None] / 255.0, labels[1000:])


def clothes(folder, first, count):
    """Of each class of Fashion-MNIST, so many images from one on, the classes in turns."""
    parts = []
    for i in range(10):
        with open(os.path.join(folder, f"{i}.json"), encoding="ascii") as f:
            # Two entries of class 0 are empty.
            values = [v for v in json.load(f)["data"] if v][first:first + count]
        parts.append(np.array(values, np.float32).reshape(-1, 1, 28, 28) / 255)
    return np.stack(parts, 1).reshape(-1, 1, 28, 28), list(range(10)) * len(parts[0])


def fashion(out, folders):
    save(out, "fashion", "calib", clothes(folders[0], 1200, 6)[0])
    save(out, "fashion", "test", *clothes(folders[0], 6000, 100))
    save(out, "fashion", "held", *clothes(folders[0], 6100, 900))


FONTS = ["DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSerif.ttf", "DejaVuSansMono.ttf",
         "DejaVuSerif-Bold.ttf", "DejaVuSansMono-Bold.ttf"]
WORDS = """Total amount invoice street number please order delivery 2026 station north window
account paper black kitchen 4711 receipt return bread window garden quality English market
payment before tomorrow 1984 Friday winter travel hotel reception library museum ticket""".split()


def draw_line(rng, most=2):
    """A picture of a line of up to @most words."""
    font = ImageFont.truetype(FONTS[rng.integers(len(FONTS))], int(rng.integers(26, 38)))
    text = " ".join(WORDS[i] for i in rng.integers(len(WORDS), size=rng.integers(1, most + 1)))
    left, top, right, bottom = font.getbbox(text)
    ink, paper = rng.integers(0, 90, 3), rng.integers(170, 256, 3)
    margin = int(rng.integers(2, 7))
    image = Image.new("RGB", (right - left + 2 * margin, bottom - top + 2 * margin),
                      tuple(int(v) for v in paper))
    ImageDraw.Draw(image).text((margin - left, margin - top), text, font=font,
                               fill=tuple(int(v) for v in ink))
    return image


def text_line(rng, turned, most_width=192, most=2):
    """A line of text, 48 high and up to @most_width wide, as the detector would cut it out."""
    image = draw_line(rng, most)
    if turned:
        image = image.transpose(Image.Transpose.ROTATE_180)
    width = min(most_width, max(1, round(image.width * 48 / image.height)))
    pixels = np.asarray(image.resize((width, 48), Image.Resampling.BILINEAR), np.float32)
    pixels = np.clip(pixels + rng.normal(0, 4, pixels.shape), 0, 255)
    array = np.zeros((3, 48, most_width), np.float32)
    array[:, :, :width] = ((pixels / 255 - 0.5) / 0.5).transpose(2, 0, 1)
    return array


def ppocr(out, _folders):
    rng = np.random.default_rng(14)
    lines = [text_line(rng, i % 2) for i in range(448)]
    save(out, "ppocr", "calib", lines[:48])
    save(out, "ppocr", "test", lines[48:248], [i % 2 for i in range(48, 248)])
    save(out, "ppocr", "held", lines[248:], [i % 2 for i in range(248, 448)])


def lines(out, _folders):
    """Lines to be read."""
    rng = np.random.default_rng(15)
    found = [text_line(rng, False, 320, 3) for _ in range(152)]
    save(out, "ppocr-rec", "calib", found[:32])
    save(out, "ppocr-rec", "test", found[32:72])
    save(out, "ppocr-rec", "held", found[72:])


def page(rng, side=320):
    """Lines on paper, as the detector gets them."""
    ground = np.linspace(*rng.integers(150, 256, (2, 3)), side)[:, None] + np.zeros((side, side, 3))
    image = Image.fromarray(ground.astype(np.uint8))
    y = int(rng.integers(4, 30))
    while y < side - 40:
        line = draw_line(rng)
        scale = rng.uniform(0.4, 0.9)
        line = line.resize((max(8, int(line.width * scale)), max(8, int(line.height * scale))),
                           Image.Resampling.BILINEAR)
        line = line.rotate(rng.uniform(-4, 4), expand=True, fillcolor=line.getpixel((0, 0)))
        image.paste(line, (int(rng.integers(0, max(1, side - line.width))), y))
        y += line.height + int(rng.integers(4, 50))
    pixels = np.clip(np.asarray(image, np.float32) + rng.normal(0, 4, (side, side, 3)), 0, 255)
    return imagenet_scaled(pixels)


def imagenet_scaled(pixels):
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    return ((pixels / 255 - mean) / deviation).transpose(2, 0, 1)


def pages(out, _folders):
    """Pages on which text is to be found."""
    rng = np.random.default_rng(16)
    found = [page(rng) for _ in range(64)]
    save(out, "ppocr-det", "calib", found[:16])
    save(out, "ppocr-det", "test", found[16:32])
    save(out, "ppocr-det", "held", found[32:])


def on_white(path, size):
    """A picture as a square on white."""
    image = Image.open(path).convert("RGBA")
    side = max(image.size)
    square = Image.new("RGBA", (side, side), (255, 255, 255, 255))
    square.alpha_composite(image, ((side - image.width) // 2, (side - image.height) // 2))
    return square.convert("RGB").resize((size, size), Image.Resampling.BICUBIC)


def stamp_labels():
    with open(os.path.join(HERE, "stamps.txt"), encoding="ascii") as f:
        return dict(line.split() for line in f if not line.startswith("#"))


def stamps(folder, labelled):
    """Photograph-like pictures without a label."""
    found = []
    for path, dirs, files in os.walk(folder):
        dirs.sort()
        for name in sorted(files):
            key = os.path.relpath(os.path.join(path, name[:-4]), folder)
            if name.endswith(".png") and key not in labelled and "cartoon" not in key and \
                    key.split("/")[0] in ("animals", "food", "household", "hobbies", "plants",
                                          "vehicles", "sports", "clothes", "space"):
                found.append(os.path.join(path, name))
    return found


def other_stamps(folder, labelled, count):
    """Some of them, spread over the collection."""
    found = stamps(folder, labelled)
    return [found[i * len(found) // count] for i in range(count)]


def held_stamps(folder, labelled, used, count):
    """Others than those."""
    found = [p for p in stamps(folder, labelled) if p not in used]
    return [found[i * len(found) // count] for i in range(count)]


# ImageNet's classes of each class of CIFAR: airplane, automobile, bird, cat, deer, dog, frog,
# horse, ship, truck.
CIFAR_CLASSES = ["404,895", "436,468,511,581,609,627,656,661,751,817", "7-24,80-100,127-146",
                 "281-287", "351-353", "151-275", "30-32", "339",
                 "403,472,484,510,554,576,625,628,724,780,814,833,871,914",
                 "555,569,654,675,717,734,864,867"]


def cifar_labels(folder, first, count):
    with open(os.path.join(folder, "test_lables.json"), encoding="ascii") as f:
        return [CIFAR_CLASSES[i] for i in json.load(f)[first:first + count]]


def cifar(folder, batch, first, count):
    rows = np.asarray(Image.open(os.path.join(folder, batch)).convert("RGB"))
    rows = rows[first:first + count]
    for row in rows:
        yield Image.fromarray(row.reshape(32, 32, 3)).resize((224, 224), Image.Resampling.BICUBIC)


def imagenet(image):
    """As Keras' ResNet50 was trained: BGR without its mean."""
    bgr = np.asarray(image, np.float32)[:, :, ::-1] - np.float32([103.939, 116.779, 123.68])
    return bgr.transpose(2, 0, 1)


def resnet50(out, folders):
    folder, cifar10 = folders
    labelled = stamp_labels()
    used = other_stamps(folder, labelled, 36)
    calib = [on_white(p, 224) for p in used]
    calib += list(cifar(cifar10, "data_batch_1.png", 0, 12))
    photos = os.path.join(out, "resnet50-photos")
    os.makedirs(photos, exist_ok=True)
    test, labels = [], []
    for key, classes in labelled.items():
        picture = on_white(os.path.join(folder, key + ".png"), 224)
        picture.save(os.path.join(photos, os.path.basename(key) + ".png"))
        test.append(picture)
        labels.append(classes)
    extra = list(cifar(cifar10, "test_batch.png", 0, 100))
    save(out, "resnet50", "calib", [imagenet(i) for i in calib])
    save(out, "resnet50", "test", [imagenet(i) for i in test + extra],
         labels + ["-"] * len(extra))
    held = [on_white(p, 224) for p in held_stamps(folder, labelled, used, 120)]
    extra = list(cifar(cifar10, "test_batch.png", 1000, 120))
    save(out, "resnet50", "held", [imagenet(i) for i in held + extra],
         ["-"] * len(held) + cifar_labels(cifar10, 1000, 120))
    with open(os.path.join(out, "resnet50-labels.txt"), "w", encoding="utf-8") as f, \
            open(os.path.join(out, "resnet50-labels.json"), encoding="utf-8") as names:
        f.writelines(f"{name}\n" for name in json.load(names).values())


def mobilenetv2(out, folders):
    labelled = stamp_labels()
    pictures = other_stamps(folders[0], labelled, 88)

    def arrays(paths):
        return [(np.asarray(on_white(p, 224), np.float32) / 127.5 - 1).transpose(2, 0, 1)
                for p in paths]

    both = arrays(pictures)
    test = [a for i, a in enumerate(both) if i % 11 >= 6]
    held = arrays(held_stamps(folders[0], labelled, pictures, 100))
    save(out, "mobilenetv2", "calib", [a for i, a in enumerate(both) if i % 11 < 6])
    save(out, "mobilenetv2", "test", test, ["-"] * len(test))
    save(out, "mobilenetv2", "held", held, ["-"] * len(held))


PHOTOGRAPHS = ["astronaut.png", "coffee.png", "chelsea.png", "rocket.jpg", "motorcycle_left.png",
               "brick.png", "gravel.png", "retina.jpg"]
HELD_PHOTOGRAPHS = ["camera.png", "coins.png", "grass.png", "hubble_deep_field.jpg", "ihc.png"]


def crops(folder, name, count):
    """Parts of 128 x 128 of a photograph, spread over it."""
    image = Image.open(os.path.join(folder, name)).convert("RGB")
    if name == "retina.jpg":
        image = image.resize((470, 470), Image.Resampling.BICUBIC)
    for i in range(count):
        x = (image.width - 128) * (2 * i + 1) // (2 * count)
        y = (image.height - 128) * ((3 * i + 1) % count) // count
        yield image.crop((x, y, x + 128, y + 128))


def planes(image):
    return np.asarray(image, np.float32).transpose(2, 0, 1)


def esrgan(out, folders):
    """Half-size pictures to be doubled; the truth beside them, for PSNR."""
    def pairs(names):
        large = [c for name in names for c in crops(folders[0], name, 6)]
        return [(planes(i.resize((64, 64), Image.Resampling.BICUBIC)), planes(i)) for i in large]

    def measured(what, images):
        save(out, "esrgan", what, [small for small, _ in images], ["-"] * len(images))
        truth = np.stack([large for _, large in images])
        np.save(os.path.join(out, "esrgan-truth.npy" if what == "test" else
                             f"esrgan-{what}-truth.npy"), np.ascontiguousarray(truth, "<f4"))

    both = pairs(PHOTOGRAPHS)
    save(out, "esrgan", "calib", [small for i, (small, _) in enumerate(both) if i % 3 == 0])
    measured("test", [pair for i, pair in enumerate(both) if i % 3])
    measured("held", pairs(HELD_PHOTOGRAPHS))


def views(photograph, rng, count):
    """Parts of a photograph, half as large as it or more, some of them mirrored."""
    for i in range(count):
        share = rng.uniform(0.5, 1) if i else 1
        width, height = int(photograph.width * share), int(photograph.height * share)
        x = int(rng.integers(photograph.width - width + 1))
        y = int(rng.integers(photograph.height - height + 1))
        view = photograph.crop((x, y, x + width, y + height))
        view.thumbnail((800, 800), Image.Resampling.BICUBIC)
        yield view.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if i % 2 else view


def faces(out, folders):
    """Photographs with people as pictures: of one group to calibrate with, of others to measure."""
    rng = np.random.default_rng(38)
    for what, numbers, count in (("calib", (1, 5), 12), ("pictures", (2, 3, 4, 6), 13)):
        to = os.path.join(out, f"faces-{what}")
        os.makedirs(to, exist_ok=True)
        found = []
        for n in numbers:
            photograph = Image.open(os.path.join(folders[0], f"sample{n}.jpg")).convert("RGB")
            found += views(photograph, rng, count)
        for i, view in enumerate(found[:50]):
            view.save(os.path.join(to, f"{i:02}.png"))
    with open(os.path.join(out, "faces-labels.txt"), "w", encoding="ascii") as f:
        f.write("face\n")


def blazeface(out, folders):
    """Photographs with people, of 256 x 256 pixels in the order H, W, C, from -1 to 1."""
    rng = np.random.default_rng(39)
    for what, numbers, count in (("calib", (1, 5), 8), ("test", (2, 3), 6), ("held", (4, 6), 12)):
        found = []
        for n in numbers:
            photograph = Image.open(os.path.join(folders[0], f"sample{n}.jpg")).convert("RGB")
            found += [np.asarray(view.resize((256, 256), Image.Resampling.BILINEAR), np.float32)
                      / 127.5 - 1 for view in views(photograph, rng, count)]
        save(out, "blazeface", what, found)


def pictures(out, name, factor, offset, count=4):
    """The first test images as PNG files, NUMBER-LABEL.png; a pixel is value * factor + offset."""
    folder = os.path.join(out, f"{name}-pictures")
    images = np.load(os.path.join(out, f"{name}-test.npy"), mmap_mode="r")
    with open(os.path.join(out, f"{name}-test.labels"), encoding="ascii") as f:
        labels = f.read().split()
    os.makedirs(folder, exist_ok=True)
    for i in range(count):
        pixels = np.rint(images[i].transpose(1, 2, 0) * factor + offset).astype(np.uint8)
        image = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
        image.save(os.path.join(folder, f"{i}-{labels[i]}.png"))


def folders_of_classes(out, name, factor, offset):
    """All test images, and those held back, as NAME-set/CLASS/NUMBER.png."""
    number = 0
    for part in ("test", "held"):
        images = np.load(os.path.join(out, f"{name}-{part}.npy"), mmap_mode="r")
        with open(os.path.join(out, f"{name}-{part}.labels"), encoding="ascii") as f:
            labels = f.read().split()
        for image, label in zip(images, labels):
            folder = os.path.join(out, f"{name}-set", label)
            os.makedirs(folder, exist_ok=True)
            pixels = np.rint(image[0] * factor + offset).astype(np.uint8)
            Image.fromarray(pixels).save(os.path.join(folder, f"{number:05}.png"))
            number += 1
    print(f"models: {name}-set: {number} pictures")


SETS = {"mnist": mnist, "fashion": fashion, "ppocr": ppocr, "resnet50": resnet50,
        "mobilenetv2": mobilenetv2, "esrgan": esrgan, "faces": faces,
        "ppocr-det": pages, "ppocr-rec": lines, "blazeface": blazeface}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=SETS)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--out", required=True)
    parser.add_argument("--pictures", nargs=2, type=float, metavar=("FACTOR", "OFFSET"))
    parser.add_argument("--set", nargs=2, type=float, metavar=("FACTOR", "OFFSET"))
    args = parser.parse_args()
    if args.pictures:
        pictures(args.out, args.name, *args.pictures)
    elif args.set:
        folders_of_classes(args.out, args.name, *args.set)
    else:
        SETS[args.name](args.out, args.folders)


if __name__ == "__main__":
    main()
