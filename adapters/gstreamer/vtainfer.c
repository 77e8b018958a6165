// SPDX-License-Identifier: Apache-2.0
/*
 * vtainfer.c - the GStreamer element vtainfer: a network on the frames of a video
 *
 * Frames pass in their order. Each gets a region of interest for each finding (its type is the
 * class, the structure "detection" has "confidence" and "label_id"), a drawing of them, and a
 * message "vtainfer" on the bus: docs/gstreamer.md.
 */
#include <gst/video/gstvideofilter.h>
#include <gst/video/gstvideometa.h>
#include <gst/video/video.h>
#include <math.h>
#include <string.h>

#include "engine.h"
#include "vta.h"

#define VTA_TYPE_INFER	(vta_infer_get_type())
G_DECLARE_FINAL_TYPE(VtaInfer, vta_infer, VTA, INFER, GstVideoFilter)

/* Properties, under the object's lock, and the engine, which the streaming thread has. */
struct _VtaInfer {
	GstVideoFilter parent;
	gchar *model, *cards, *format;
	gfloat least;
	gboolean draw;
	struct engine *engine;
	guint8 *rows;		/* a copy of a frame whose rows have gaps */
	gsize rows_bytes;
};

G_DEFINE_TYPE(VtaInfer, vta_infer, GST_TYPE_VIDEO_FILTER)
GST_DEBUG_CATEGORY_STATIC(vta_infer_debug);
#define GST_CAT_DEFAULT vta_infer_debug

#define LEAST	0.3f
#define PACKAGE	"vta-pcie"

enum { PROP_MODEL = 1, PROP_CARDS, PROP_FORMAT, PROP_LEAST, PROP_DRAW };

/* ---- Properties ---- */

static gchar **find_text(VtaInfer *self, guint id)
{
	return id == PROP_MODEL ? &self->model : id == PROP_CARDS ? &self->cards : &self->format;
}

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
	VtaInfer *self = VTA_INFER(object);
	gchar **text;

	GST_OBJECT_LOCK(self);
	switch (id) {
	case PROP_MODEL:
	case PROP_CARDS:
	case PROP_FORMAT:
		text = find_text(self, id);
		g_free(*text);
		*text = g_value_dup_string(value);
		break;
	case PROP_LEAST:
		self->least = g_value_get_float(value);
		break;
	case PROP_DRAW:
		self->draw = g_value_get_boolean(value);
		break;
	default:
		G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
	}
	GST_OBJECT_UNLOCK(self);
}

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
	VtaInfer *self = VTA_INFER(object);

	GST_OBJECT_LOCK(self);
	switch (id) {
	case PROP_MODEL:
	case PROP_CARDS:
	case PROP_FORMAT:
		g_value_set_string(value, *find_text(self, id));
		break;
	case PROP_LEAST:
		g_value_set_float(value, self->least);
		break;
	case PROP_DRAW:
		g_value_set_boolean(value, self->draw);
		break;
	default:
		G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
	}
	GST_OBJECT_UNLOCK(self);
}

static void finalize(GObject *object)
{
	VtaInfer *self = VTA_INFER(object);

	g_free(self->model);
	g_free(self->cards);
	g_free(self->format);
	G_OBJECT_CLASS(vta_infer_parent_class)->finalize(object);
}

/* ---- The stream's beginning and end ---- */

static gboolean start(GstBaseTransform *base)
{
	VtaInfer *self = VTA_INFER(base);
	struct engine_options options;
	char why[ENGINE_WHY_MAX];

	GST_OBJECT_LOCK(self);
	options = (struct engine_options) {
		g_strdup(self->model), g_strdup(self->cards), g_strdup(self->format),
	};
	GST_OBJECT_UNLOCK(self);
	self->engine = engine_open(&options, why);
	g_free((gchar *)options.model);
	g_free((gchar *)options.cards);
	g_free((gchar *)options.format);
	if (!self->engine)
		GST_ELEMENT_ERROR(self, RESOURCE, OPEN_READ, ("%s", why), (NULL));
	return self->engine ? TRUE : FALSE;
}

static gboolean stop(GstBaseTransform *base)
{
	VtaInfer *self = VTA_INFER(base);

	engine_close(self->engine);
	self->engine = NULL;
	g_free(self->rows);
	self->rows = NULL;
	self->rows_bytes = 0;
	return TRUE;
}

/* ---- Frames ---- */

/* The frame as a picture, in place if its rows have no gaps. */
static gboolean open_picture(VtaInfer *self, GstVideoFrame *frame, struct picture *p)
{
	gsize stride = (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0), row;
	const guint8 *data = GST_VIDEO_FRAME_PLANE_DATA(frame, 0);

	p->width = (uint32_t)GST_VIDEO_FRAME_WIDTH(frame);
	p->height = (uint32_t)GST_VIDEO_FRAME_HEIGHT(frame);
	p->rgba = GST_VIDEO_FRAME_PLANE_DATA(frame, 0);
	row = (gsize)p->width * 4;
	if (stride == row)
		return TRUE;
	if (self->rows_bytes != row * p->height) {
		g_free(self->rows);
		self->rows = g_try_malloc(row * p->height);
		self->rows_bytes = self->rows ? row * p->height : 0;
	}
	for (gsize y = 0; self->rows && y < p->height; y++)
		memcpy(self->rows + y * row, data + y * stride, row);
	p->rgba = self->rows;
	return self->rows ? TRUE : FALSE;
}

static void close_picture(GstVideoFrame *frame, const struct picture *p)
{
	gsize stride = (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0), row = (gsize)p->width * 4;
	guint8 *data = GST_VIDEO_FRAME_PLANE_DATA(frame, 0);

	for (gsize y = 0; p->rgba != data && y < p->height; y++)
		memcpy(data + y * stride, p->rgba + y * row, row);
}

static const char *write_text(void *engine, const struct box *box)
{
	static GPrivate text = G_PRIVATE_INIT(g_free);

	g_private_replace(&text, g_strdup_printf("%s %.2f", engine_label(engine, box->class),
						 (double)box->score));
	return g_private_get(&text);
}

static void attach_box(VtaInfer *self, GstBuffer *buffer, const struct box *b)
{
	const char *label = engine_label(self->engine, b->class);
	guint left = (guint)b->left, top = (guint)b->top;
	guint width = (guint)ceilf(b->right) - left, height = (guint)ceilf(b->bottom) - top;
	GstVideoRegionOfInterestMeta *meta;
	GstStructure *detection;

	meta = gst_buffer_add_video_region_of_interest_meta(buffer, label, left, top, width,
							    height);
	detection = gst_structure_new_empty("detection");
	gst_structure_set(detection, "confidence", G_TYPE_DOUBLE, (gdouble)b->score, NULL);
	gst_structure_set(detection, "label_id", G_TYPE_UINT, (guint)b->class, NULL);
	gst_video_region_of_interest_meta_add_param(meta, detection);
}

static void append_box(VtaInfer *self, GValue *objects, const struct box *b)
{
	const char *label = engine_label(self->engine, b->class);
	GstStructure *object = gst_structure_new_empty("object");
	GValue value = G_VALUE_INIT;

	gst_structure_set(object, "label", G_TYPE_STRING, label, NULL);
	gst_structure_set(object, "class", G_TYPE_UINT, (guint)b->class, NULL);
	gst_structure_set(object, "score", G_TYPE_DOUBLE, (gdouble)b->score, NULL);
	gst_structure_set(object, "left", G_TYPE_DOUBLE, (gdouble)b->left, NULL);
	gst_structure_set(object, "top", G_TYPE_DOUBLE, (gdouble)b->top, NULL);
	gst_structure_set(object, "right", G_TYPE_DOUBLE, (gdouble)b->right, NULL);
	gst_structure_set(object, "bottom", G_TYPE_DOUBLE, (gdouble)b->bottom, NULL);
	g_value_init(&value, GST_TYPE_STRUCTURE);
	g_value_take_boxed(&value, object);
	gst_value_array_append_and_take_value(objects, &value);
}

static void publish_boxes(VtaInfer *self, GstBuffer *buffer, const struct box *boxes, int count)
{
	GstStructure *message = gst_structure_new_empty("vtainfer");
	GValue objects = G_VALUE_INIT;

	gst_structure_set(message, "timestamp", G_TYPE_UINT64, GST_BUFFER_PTS(buffer), NULL);
	g_value_init(&objects, GST_TYPE_ARRAY);
	for (int i = 0; i < count; i++) {
		attach_box(self, buffer, &boxes[i]);
		append_box(self, &objects, &boxes[i]);
	}
	gst_structure_take_value(message, "objects", &objects);
	gst_element_post_message(GST_ELEMENT(self),
				 gst_message_new_element(GST_OBJECT(self), message));
}

static GstFlowReturn transform_frame_ip(GstVideoFilter *filter, GstVideoFrame *frame)
{
	VtaInfer *self = VTA_INFER(filter);
	const struct box *boxes;
	char why[ENGINE_WHY_MAX];
	struct picture picture;
	gboolean draw;
	gfloat least;
	int count;

	GST_OBJECT_LOCK(self);
	least = self->least;
	draw = self->draw;
	GST_OBJECT_UNLOCK(self);
	if (!open_picture(self, frame, &picture)) {
		GST_ELEMENT_ERROR(self, RESOURCE, NO_SPACE_LEFT, ("out of memory"), (NULL));
		return GST_FLOW_ERROR;
	}
	count = engine_run(self->engine, &picture, least, &boxes, why);
	if (count < 0) {
		GST_ELEMENT_ERROR(self, STREAM, FAILED, ("%s", why), (NULL));
		return GST_FLOW_ERROR;
	}
	GST_LOG_OBJECT(self, "%d findings", count);
	if (draw && count) {
		boxes_draw(&picture, boxes, (size_t)count, write_text, self->engine);
		close_picture(frame, &picture);
	}
	publish_boxes(self, frame->buffer, boxes, count);
	return GST_FLOW_OK;
}

/* ---- The class ---- */

static GstStaticPadTemplate sink = GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
	GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE("RGBA")));
static GstStaticPadTemplate source = GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS,
	GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE("RGBA")));

static void vta_infer_init(VtaInfer *self)
{
	self->least = LEAST;
	self->draw = TRUE;
	gst_base_transform_set_qos_enabled(GST_BASE_TRANSFORM(self), TRUE);
}

static void install_text(GObjectClass *class, guint id, const char *name, const char *nick,
			 const char *what)
{
	const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
				  GST_PARAM_MUTABLE_READY;
	GParamSpec *spec = g_param_spec_string(name, nick, what, NULL, flags);

	g_object_class_install_property(class, id, spec);
}

static void install_properties(GObjectClass *class)
{
	const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
				  GST_PARAM_MUTABLE_PLAYING;
	GParamSpec *spec;

	install_text(class, PROP_MODEL, "model", "Model",
		     "Program of vtac compile (.vtap) for pictures");
	install_text(class, PROP_CARDS, "cards", "Cards",
		     "Cards, with commas between (all, or what VTADEV_DEVICE names)");
	install_text(class, PROP_FORMAT, "box-format", "Box format",
		     "xyxy, yxyx, xywh or cxcywh, and pixels or normalised");
	spec = g_param_spec_float("min-score", "Least score",
				  "Findings of smaller scores are left out", -G_MAXFLOAT,
				  G_MAXFLOAT, LEAST, flags);
	g_object_class_install_property(class, PROP_LEAST, spec);
	spec = g_param_spec_boolean("draw", "Draw", "Draw boxes, classes and scores on the frames",
				    TRUE, flags);
	g_object_class_install_property(class, PROP_DRAW, spec);
}

static void vta_infer_class_init(VtaInferClass *class)
{
	GstBaseTransformClass *base = GST_BASE_TRANSFORM_CLASS(class);
	GstElementClass *element = GST_ELEMENT_CLASS(class);
	GObjectClass *object = G_OBJECT_CLASS(class);

	object->set_property = set_property;
	object->get_property = get_property;
	object->finalize = finalize;
	install_properties(object);
	gst_element_class_set_static_metadata(element, "VTA inference", "Filter/Analyzer/Video",
					      "Runs a network on VTA cards", PACKAGE);
	gst_element_class_add_static_pad_template(element, &sink);
	gst_element_class_add_static_pad_template(element, &source);
	base->start = start;
	base->stop = stop;
	GST_VIDEO_FILTER_CLASS(class)->transform_frame_ip = transform_frame_ip;
}

static gboolean register_element(GstPlugin *plugin)
{
	GST_DEBUG_CATEGORY_INIT(vta_infer_debug, "vtainfer", 0, "networks on VTA cards");
	return gst_element_register(plugin, "vtainfer", GST_RANK_NONE, VTA_TYPE_INFER);
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, vta, "Networks on VTA cards",
		  register_element, VTA_VERSION, "Apache 2.0", PACKAGE, PACKAGE)
