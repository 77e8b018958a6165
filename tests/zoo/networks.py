# SPDX-License-Identifier: GPL-2.0-only
"""The zoo's networks: how each is made with random weights, and its inputs.

A recipe returns a module and its inputs, by name: functions that make a tensor; and functions that
change the exported file, if any. Modules have their
library's full size unless the recipe says otherwise; pictures have 96 x 96 pixels in place of 224.
"""
import collections

Recipe = collections.namedtuple("Recipe", "name group function arguments")
_recipes = []


def recipes():
    return _recipes


def network(group, *names):
    """Add the recipe that follows, once for each of the names, with the name as its argument."""
    def add(function):
        prefix = {"optimised": "optimised_", "8-bit weights": "dynamic_",
                  "quantised": "quantised_"}.get(group, "")
        if names:
            _recipes.extend(Recipe(prefix + name, group, function, (name,)) for name in names)
        else:
            _recipes.append(Recipe(function.__name__, group, function, ()))
        return function
    return add


def _function(name):
    """The function of the recipe of that name, ready to be called."""
    recipe = next(r for r in _recipes if r.name == name)
    return lambda: recipe.function(*recipe.arguments)


def picture(size=96):
    """A smooth picture with noise, as normalised pixels."""
    import torch
    return lambda: torch.nn.functional.interpolate(
        torch.randn(1, 3, 12, 12), (size, size), mode="bilinear") + 0.1 * torch.randn(1, 3, size, size)


def values(*shape):
    import torch
    return lambda: torch.randn(1, *shape)


def tokens(length, words):
    import torch
    return lambda: torch.randint(1, words, (1, length))


def ones(length):
    import torch
    return lambda: torch.ones(1, length, dtype=torch.int64)


def output(module, *names):
    """Outputs of transformers' modules as a tuple of tensors."""
    import torch

    class Tuple(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self, *inputs):
            results = self.module(*inputs, return_dict=True)
            return tuple(results[name] for name in names)
    return Tuple()


def keywords(module, inputs, *names):
    """As output(), with inputs given by their names."""
    import torch

    class Tuple(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self, *values):
            results = self.module(**dict(zip(inputs, values)), return_dict=True)
            return tuple(results[name] for name in names)
    return Tuple()


# ---- torchvision ----

@network("classification", "resnet18", "resnet50", "resnext50_32x4d", "squeezenet1_1",
         "densenet121", "googlenet", "inception_v3", "mobilenet_v2", "mobilenet_v3_small",
         "mobilenet_v3_large", "mnasnet0_5", "mnasnet1_0", "shufflenet_v2_x1_0", "efficientnet_b0",
         "regnet_y_400mf", "regnet_x_400mf", "convnext_tiny", "swin_t", "swin_v2_t")
def classifier(name):
    import torchvision
    options = {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
    return torchvision.models.get_model(name, weights=None, **options), {"x": picture()}


@network("classification")
def maxvit():
    """Two of four stages, 64 x 64 pixels."""
    import torchvision
    return torchvision.models.MaxVit(
        input_size=(64, 64), stem_channels=32, partition_size=4, block_channels=[32, 64],
        block_layers=[1, 1], head_dim=32, stochastic_depth_prob=0), {"x": picture(64)}


@network("classification", "alexnet", "vgg11_bn")
def with_hidden_layers(name):
    """One hidden layer of 512 behind the mean, in place of two of 4096."""
    import torch
    import torchvision
    model = torchvision.models.get_model(name, weights=None)
    model.avgpool = torch.nn.AdaptiveAvgPool2d(1)
    model.classifier = torch.nn.Sequential(torch.nn.LazyLinear(512), torch.nn.ReLU(),
                                           torch.nn.Linear(512, 1000))
    model(torch.zeros(1, 3, 96, 96))
    return model, {"x": picture()}


@network("segmentation", "fcn_resnet50", "deeplabv3_mobilenet_v3_large",
         "lraspp_mobilenet_v3_large")
def segmenter(name):
    import torch
    import torchvision
    model = torchvision.models.get_model(name, weights=None, weights_backbone=None)

    class First(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            return self.model(x)["out"]
    return First(), {"x": picture()}


# ---- transformers ----

@network("text")
def bert():
    """4 of 12 layers, 256 of 768 channels."""
    import transformers
    config = transformers.BertConfig(vocab_size=1000, hidden_size=256, num_hidden_layers=4,
                                     num_attention_heads=4, intermediate_size=1024)
    return output(transformers.BertModel(config), "last_hidden_state", "pooler_output"), {
        "tokens": tokens(32, 1000), "mask": ones(32)}


@network("text")
def bert_base():
    """All 12 layers, 32 tokens, a vocabulary of 1000."""
    import transformers
    config = transformers.BertConfig(vocab_size=1000)
    return output(transformers.BertForSequenceClassification(config), "logits"), {
        "tokens": tokens(32, 1000), "mask": ones(32)}


@network("text")
def distilbert():
    """4 of 6 layers, 256 of 768 channels."""
    import transformers
    config = transformers.DistilBertConfig(vocab_size=1000, dim=256, n_layers=4, n_heads=4,
                                           hidden_dim=1024)
    return output(transformers.DistilBertForSequenceClassification(config), "logits"), {
        "tokens": tokens(32, 1000), "mask": ones(32)}


@network("text")
def roberta():
    """4 of 12 layers, 256 of 768 channels."""
    import transformers
    config = transformers.RobertaConfig(vocab_size=1000, hidden_size=256, num_hidden_layers=4,
                                        num_attention_heads=4, intermediate_size=1024)
    return output(transformers.RobertaForTokenClassification(config), "logits"), {
        "tokens": tokens(32, 1000), "mask": ones(32)}


@network("text")
def albert():
    """4 of 12 layers, 256 of 4096 channels."""
    import transformers
    config = transformers.AlbertConfig(vocab_size=1000, hidden_size=256, num_hidden_layers=4,
                                       num_attention_heads=4, intermediate_size=1024)
    return output(transformers.AlbertModel(config), "last_hidden_state"), {
        "tokens": tokens(32, 1000), "mask": ones(32)}


@network("text")
def electra():
    """4 of 12 layers."""
    import transformers
    config = transformers.ElectraConfig(vocab_size=1000, num_hidden_layers=4)
    return output(transformers.ElectraForSequenceClassification(config), "logits"), {
        "tokens": tokens(32, 1000), "mask": ones(32)}


@network("text")
def mpnet():
    """4 of 12 layers, 256 of 768 channels."""
    import transformers
    config = transformers.MPNetConfig(vocab_size=1000, hidden_size=256, num_hidden_layers=4,
                                      num_attention_heads=4, intermediate_size=1024)
    return output(transformers.MPNetModel(config), "last_hidden_state"), {
        "tokens": tokens(32, 1000), "mask": ones(32)}


@network("text")
def t5_encoder():
    """4 of 6 layers, 256 of 512 channels."""
    import transformers
    config = transformers.T5Config(vocab_size=1000, d_model=256, d_kv=64, d_ff=1024, num_layers=4,
                                   num_heads=4)
    return output(transformers.T5EncoderModel(config), "last_hidden_state"), {
        "tokens": tokens(32, 1000), "mask": ones(32)}


@network("text")
def gpt2():
    """4 of 12 layers, 256 of 768 channels, without past keys."""
    import transformers
    config = transformers.GPT2Config(vocab_size=1000, n_embd=256, n_layer=4, n_head=4,
                                     use_cache=False)
    inputs = ["input_ids", "attention_mask"]
    return keywords(transformers.GPT2LMHeadModel(config), inputs, "logits"), {
        "tokens": tokens(32, 1000), "mask": ones(32)}


@network("text")
def llama():
    """4 of 32 layers, 256 of 4096 channels, without past keys."""
    import transformers
    config = transformers.LlamaConfig(vocab_size=1000, hidden_size=256, intermediate_size=688,
                                      num_hidden_layers=4, num_attention_heads=4,
                                      num_key_value_heads=2, use_cache=False)
    inputs = ["input_ids", "attention_mask"]
    return keywords(transformers.LlamaForCausalLM(config), inputs, "logits"), {
        "tokens": tokens(32, 1000), "mask": ones(32)}


VISION = {"hidden_size": 192, "num_hidden_layers": 4, "num_attention_heads": 3,
          "intermediate_size": 768, "image_size": 96}


@network("vision")
def vit():
    """4 of 12 layers, 192 of 768 channels."""
    import transformers
    config = transformers.ViTConfig(**VISION)
    return output(transformers.ViTForImageClassification(config), "logits"), {"x": picture()}


@network("vision")
def deit():
    """4 of 12 layers, 192 of 768 channels."""
    import transformers
    config = transformers.DeiTConfig(**VISION)
    return output(transformers.DeiTForImageClassificationWithTeacher(config), "logits"), {
        "x": picture()}


@network("vision")
def beit():
    """4 of 12 layers, 192 of 768 channels."""
    import transformers
    config = transformers.BeitConfig(use_relative_position_bias=True, **VISION)
    return output(transformers.BeitForImageClassification(config), "logits"), {"x": picture()}


@network("vision")
def dinov2():
    """4 of 12 layers, 192 of 768 channels."""
    import transformers
    config = transformers.Dinov2Config(hidden_size=192, num_hidden_layers=4, num_attention_heads=3,
                                       image_size=112)
    return output(transformers.Dinov2Model(config), "last_hidden_state"), {"x": picture(112)}


@network("vision")
def swin():
    """Two of four stages."""
    import transformers
    config = transformers.SwinConfig(image_size=112, embed_dim=48, depths=[2, 2], num_heads=[3, 6])
    return output(transformers.SwinForImageClassification(config), "logits"), {"x": picture(112)}


@network("segmentation")
def segformer():
    """SegFormer-B0."""
    import transformers
    return output(transformers.SegformerForSemanticSegmentation(transformers.SegformerConfig()),
                  "logits"), {"x": picture()}


@network("vision")
def mobilevit():
    """MobileViT-S."""
    import transformers
    config = transformers.MobileViTConfig(image_size=96)
    return output(transformers.MobileViTForImageClassification(config), "logits"), {"x": picture()}


@network("vision")
def convnext_v2():
    """ConvNeXtV2-Atto."""
    import transformers
    config = transformers.ConvNextV2Config(hidden_sizes=[40, 80, 160, 320], depths=[2, 2, 6, 2],
                                           image_size=96)
    return output(transformers.ConvNextV2ForImageClassification(config), "logits"), {
        "x": picture()}


@network("vision")
def poolformer():
    """Half of the layers of PoolFormer-S12."""
    import transformers
    config = transformers.PoolFormerConfig(depths=[1, 1, 2, 1])
    return output(transformers.PoolFormerForImageClassification(config), "logits"), {
        "x": picture()}


@network("vision")
def mobilenet_v1():
    import transformers
    config = transformers.MobileNetV1Config(image_size=96)
    return output(transformers.MobileNetV1ForImageClassification(config), "logits"), {
        "x": picture()}


@network("vision")
def regnet():
    import transformers
    config = transformers.RegNetConfig(embedding_size=32, hidden_sizes=[32, 64, 160, 384],
                                       depths=[1, 2, 7, 12], groups_width=16)
    return output(transformers.RegNetForImageClassification(config), "logits"), {"x": picture()}


@network("vision")
def levit():
    import transformers
    config = transformers.LevitConfig(image_size=96)
    return output(transformers.LevitForImageClassification(config), "logits"), {"x": picture()}


@network("detection")
def detr():
    """2 of 6 layers of encoder and decoder."""
    import transformers
    backbone = transformers.ResNetConfig(depths=[1, 1, 1, 1], layer_type="basic",
                                         hidden_sizes=[32, 64, 128, 256], embedding_size=32,
                                         out_features=["stage4"])
    config = transformers.DetrConfig(use_timm_backbone=False, use_pretrained_backbone=False,
                                     backbone=None, backbone_config=backbone, encoder_layers=2,
                                     decoder_layers=2, d_model=128, encoder_attention_heads=4,
                                     decoder_attention_heads=4, encoder_ffn_dim=256,
                                     decoder_ffn_dim=256, num_queries=50)
    return output(transformers.DetrForObjectDetection(config), "logits", "pred_boxes"), {
        "x": picture()}


@network("detection")
def yolos():
    """4 of 12 layers, 192 of 768 channels, 50 of 100 boxes."""
    import transformers
    config = transformers.YolosConfig(**dict(VISION, image_size=[96, 96]), num_detection_tokens=50)
    return output(transformers.YolosForObjectDetection(config), "logits", "pred_boxes"), {
        "x": picture()}


@network("depth")
def dpt():
    """4 of 12 layers, 192 of 768 channels."""
    import transformers
    config = transformers.DPTConfig(**VISION, backbone_out_indices=[0, 1, 2, 3],
                                    neck_hidden_sizes=[24, 48, 96, 192], fusion_hidden_size=64)
    return output(transformers.DPTForDepthEstimation(config), "predicted_depth"), {"x": picture()}


@network("depth")
def glpn():
    """The first layers of each stage."""
    import transformers
    config = transformers.GLPNConfig(depths=[1, 1, 1, 1], hidden_sizes=[32, 64, 160, 256])
    return output(transformers.GLPNForDepthEstimation(config), "predicted_depth"), {"x": picture()}


@network("image and text")
def clip_vision():
    """4 of 12 layers, 192 of 768 channels."""
    import transformers
    config = transformers.CLIPVisionConfig(**VISION)
    return output(transformers.CLIPVisionModelWithProjection(config), "image_embeds"), {
        "x": picture()}


@network("image and text")
def clip_text():
    """4 of 12 layers, 192 of 512 channels."""
    import transformers
    config = transformers.CLIPTextConfig(vocab_size=1000, hidden_size=192, intermediate_size=768,
                                         num_hidden_layers=4, num_attention_heads=3,
                                         eos_token_id=999)
    return output(transformers.CLIPTextModelWithProjection(config), "text_embeds"), {
        "tokens": tokens(16, 999), "mask": ones(16)}


@network("image and text")
def siglip_vision():
    """4 of 12 layers, 192 of 768 channels."""
    import transformers
    config = transformers.SiglipVisionConfig(**VISION)
    return output(transformers.SiglipVisionModel(config), "pooler_output"), {"x": picture()}


@network("sound")
def whisper_encoder():
    """Whisper-tiny, 2 of 30 seconds."""
    import transformers
    config = transformers.WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6,
                                        encoder_ffn_dim=1536, max_source_positions=100,
                                        decoder_layers=1)
    encoder = transformers.WhisperModel(config).get_encoder()
    return output(encoder, "last_hidden_state"), {"x": values(80, 200)}


@network("sound")
def wav2vec2():
    """4 of 12 layers, 192 of 768 channels, half a second."""
    import transformers
    config = transformers.Wav2Vec2Config(vocab_size=32, hidden_size=192, num_hidden_layers=4,
                                         num_attention_heads=3, intermediate_size=768,
                                         conv_dim=[128] * 7)
    return output(transformers.Wav2Vec2ForCTC(config), "logits"), {"x": values(8000)}


@network("sound")
def hubert():
    """2 of 12 layers, 192 of 768 channels, half a second."""
    import transformers
    config = transformers.HubertConfig(vocab_size=32, hidden_size=192, num_hidden_layers=2,
                                       num_attention_heads=3, intermediate_size=768,
                                       conv_dim=[128] * 7)
    return output(transformers.HubertForCTC(config), "logits"), {"x": values(8000)}


@network("sound")
def audio_spectrogram():
    """4 of 12 layers, 192 of 768 channels, 128 of 1024 frames."""
    import transformers
    config = transformers.ASTConfig(**{k: v for k, v in VISION.items() if k != "image_size"},
                                    max_length=128)
    return output(transformers.ASTForAudioClassification(config), "logits"), {
        "x": values(128, 128)}


# ---- the zoo's own ----

@network("own")
def lstm():
    import torch

    class Lstm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = torch.nn.LSTM(40, 128, 2, batch_first=True, bidirectional=True)
            self.head = torch.nn.Linear(256, 30)

        def forward(self, x):
            return self.head(self.lstm(x)[0])
    return Lstm(), {"x": values(50, 40)}


@network("own")
def gru():
    import torch

    class Gru(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(500, 64)
            self.gru = torch.nn.GRU(64, 128, 2)
            self.head = torch.nn.Linear(128, 10)

        def forward(self, tokens):
            return self.head(self.gru(self.embed(tokens).transpose(0, 1))[0][-1])
    return Gru(), {"tokens": tokens(40, 500)}


@network("own")
def tcn():
    """A temporal convolutional network: causal, dilated, residual."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inputs, outputs, dilation):
            super().__init__()
            self.pad = nn.ConstantPad1d((2 * dilation, 0), 0)
            self.first = nn.Conv1d(inputs, outputs, 3, dilation=dilation)
            self.second = nn.Conv1d(outputs, outputs, 3, dilation=dilation)
            self.around = nn.Conv1d(inputs, outputs, 1)

        def forward(self, x):
            y = torch.relu(self.first(self.pad(x)))
            y = torch.relu(self.second(self.pad(y)))
            return torch.relu(y + self.around(x))
    return nn.Sequential(Block(16, 64, 1), Block(64, 64, 2), Block(64, 64, 4), Block(64, 64, 8),
                         nn.Conv1d(64, 10, 1)), {"x": values(16, 128)}


@network("own")
def unet():
    import torch
    from torch import nn

    def double(inputs, outputs):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs),
                             nn.ReLU(), nn.Conv2d(outputs, outputs, 3, padding=1),
                             nn.BatchNorm2d(outputs), nn.ReLU())

    class Unet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.ModuleList([double(3, 32), double(32, 64), double(64, 128)])
            self.bottom = double(128, 256)
            self.up = nn.ModuleList([nn.ConvTranspose2d(256, 128, 2, 2),
                                     nn.ConvTranspose2d(128, 64, 2, 2),
                                     nn.ConvTranspose2d(64, 32, 2, 2)])
            self.join = nn.ModuleList([double(256, 128), double(128, 64), double(64, 32)])
            self.head = nn.Conv2d(32, 2, 1)

        def forward(self, x):
            kept = []
            for block in self.down:
                x = block(x)
                kept.append(x)
                x = nn.functional.max_pool2d(x, 2)
            x = self.bottom(x)
            for up, join in zip(self.up, self.join):
                x = join(torch.cat([up(x), kept.pop()], 1))
            return self.head(x)
    return Unet(), {"x": picture()}


@network("own")
def style_transfer():
    """The transformer network of fast style transfer, by instance norms and reflected pads."""
    from torch import nn

    def conv(inputs, outputs, size, stride=1):
        return nn.Sequential(nn.ReflectionPad2d(size // 2), nn.Conv2d(inputs, outputs, size, stride),
                             nn.InstanceNorm2d(outputs, affine=True), nn.ReLU())

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = conv(64, 64, 3)
            self.second = conv(64, 64, 3)[:3]

        def forward(self, x):
            return x + self.second(self.first(x))

    def up(inputs, outputs):
        return nn.Sequential(nn.Upsample(scale_factor=2), conv(inputs, outputs, 3))
    return nn.Sequential(conv(3, 16, 9), conv(16, 32, 3, 2), conv(32, 64, 3, 2), Residual(),
                         Residual(), Residual(), up(64, 32), up(32, 16), nn.ReflectionPad2d(4),
                         nn.Conv2d(16, 3, 9)), {"x": picture()}


@network("own")
def super_resolution():
    """ESPCN: sub-pixel convolution."""
    from torch import nn
    return nn.Sequential(nn.Conv2d(3, 64, 5, padding=2), nn.Tanh(), nn.Conv2d(64, 32, 3, padding=1),
                         nn.Tanh(), nn.Conv2d(32, 27, 3, padding=1), nn.PixelShuffle(3)), {
        "x": picture()}


@network("own")
def keyword_spotting():
    """DS-CNN on 49 x 10 features of sound."""
    from torch import nn

    def block():
        return nn.Sequential(nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.BatchNorm2d(64),
                             nn.ReLU(), nn.Conv2d(64, 64, 1), nn.BatchNorm2d(64), nn.ReLU())
    return nn.Sequential(nn.Conv2d(1, 64, (10, 4), 2, (5, 1)), nn.BatchNorm2d(64), nn.ReLU(),
                         block(), block(), block(), block(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(64, 12)), {"x": values(1, 49, 10)}


@network("own")
def autoencoder():
    from torch import nn
    layers = []
    for a, b in ((640, 128), (128, 128), (128, 8), (8, 128), (128, 128)):
        layers += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(128, 640)), {"x": values(640)}


@network("own")
def gan_generator():
    """DCGAN."""
    from torch import nn

    def up(inputs, outputs, *how):
        return nn.Sequential(nn.ConvTranspose2d(inputs, outputs, 4, *how, bias=False),
                             nn.BatchNorm2d(outputs), nn.ReLU())
    return nn.Sequential(up(100, 256, 1, 0), up(256, 128, 2, 1), up(128, 64, 2, 1),
                         up(64, 32, 2, 1), nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh()), {
        "x": values(100, 1, 1)}


# ---- files that ONNX Runtime's optimiser and quantiser wrote ----

def optimise(path, _samples):
    """Rewrite by all that does not depend on the machine."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])


def quantise_weights(path, _samples):
    """Weights to 7 bits; activations at run time."""
    from onnxruntime.quantization import quantize_dynamic
    quantize_dynamic(path, path, reduce_range=True)


def quantise(path, samples):
    """Activations to 8 bits and weights to 7, as operators on integers.

    With 8 bits ONNX Runtime saturates sums on processors without VNNI.
    """
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.samples = iter(samples)

        def get_next(self):
            return next(self.samples, None)
    quantize_static(path, path, Reader(), quant_format=QuantFormat.QOperator,
                    reduce_range=True)


@network("optimised", "bert", "distilbert", "gpt2", "vit", "swin", "whisper_encoder", "style_transfer")
def optimised(name):
    return *_function(name)(), optimise


@network("8-bit weights", "bert", "lstm")
def weights_quantised(name):
    return *_function(name)(), quantise_weights, optimise


@network("quantised", "unet", "keyword_spotting", "mobilenet_v2", "googlenet",
         "shufflenet_v2_x1_0", "autoencoder")
def quantised(name):
    return *_function(name)(), quantise, optimise


# ---- torchvision's detectors ----

@network("detection", "retinanet_resnet50_fpn", "fcos_resnet50_fpn", "ssdlite320_mobilenet_v3_large",
         "ssd300_vgg16")
def detector(name):
    """With post-processing; pictures are resized to 128 x 128 and not more.

    With random weights all scores are low: limits of scores are below them.
    """
    import torch
    import torchvision
    options = {} if name.startswith("ssd") else {"min_size": 128, "max_size": 128}
    options.update({
        "retinanet_resnet50_fpn": {"score_thresh": 0.001},
        "fcos_resnet50_fpn": {"score_thresh": 0.001},
    }.get(name, {}))
    model = torchvision.models.get_model(name, weights=None, weights_backbone=None, **options)

    class Detector(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            found = self.model([x[i] for i in range(len(x))])[0]
            return tuple(found[name] for name in ("boxes", "scores", "labels"))
    return Detector(), {"x": picture(128)}


@network("detection", "fasterrcnn_mobilenet_v3_large_320_fpn", "maskrcnn_resnet50_fpn",
         "keypointrcnn_resnet50_fpn")
def two_stages(name):
    """The best 100 of 1000 regions, 10 of 100 objects; 128 x 128 pixels, low limits of scores.

    Masks are those of the network, 28 x 28: they are not pasted into the picture. Of key points the
    heat maps are compared, 56 x 56. Data would decide the sizes of both on the picture.
    """
    import torch
    import torchvision
    from torchvision.models.detection import roi_heads, transform
    model = torchvision.models.get_model(
        name, weights=None, weights_backbone=None, min_size=128, max_size=128,
        rpn_pre_nms_top_n_test=200, rpn_post_nms_top_n_test=100, box_score_thresh=0.001,
        box_detections_per_img=10)
    transform.paste_masks_in_image = lambda masks, boxes, size: masks
    transform.resize_keypoints = lambda maps, size, original: maps
    roi_heads.keypointrcnn_inference = lambda maps, boxes: ([maps], [maps])

    class Detector(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            found = self.model([x[i] for i in range(len(x))])[0]
            return tuple(found[name] for name in ("boxes", "scores", "labels", "masks", "keypoints")
                         if name in found)
    return Detector(), {"x": picture(128)}
