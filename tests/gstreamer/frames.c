// SPDX-License-Identifier: GPL-2.0-only
/*
 * frames.c - one frame through the element vtainfer, for test_vtainfer.py
 *
 *   frames MODEL WIDTH HEIGHT GAP IN OUT
 *
 * IN has the frame's pixels (RGBA). Each row of the frame has GAP more bytes. Writes the pixels
 * that come out to OUT, and prints the regions of interest: label, left, top, width, height,
 * confidence, number of the class.
 */
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/video/gstvideometa.h>
#include <gst/video/video.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGION	GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE
#define PIPELINE \
	"appsrc name=source format=time ! vtainfer name=infer ! appsink name=sink sync=false"

static GstBuffer *make_frame(const char *pixels, int width, int height, int gap)
{
	gsize row = (gsize)width * 4, offset[GST_VIDEO_MAX_PLANES] = { 0 };
	gint stride[GST_VIDEO_MAX_PLANES] = { width * 4 + gap };
	GstBuffer *buffer;

	buffer = gst_buffer_new_allocate(NULL, (row + (gsize)gap) * (gsize)height, NULL);
	gst_buffer_memset(buffer, 0, 0xa5, gst_buffer_get_size(buffer));
	for (int y = 0; y < height; y++)
		gst_buffer_fill(buffer, (gsize)y * (gsize)stride[0], pixels + (gsize)y * row, row);
	gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_RGBA,
				       (guint)width, (guint)height, 1, offset, stride);
	return buffer;
}

static void print_regions(GstBuffer *buffer)
{
	GstVideoRegionOfInterestMeta *meta;
	gpointer state = NULL;

	for (;;) {
		const GstStructure *s;
		double confidence = -1;
		guint class = 0;

		meta = (void *)gst_buffer_iterate_meta_filtered(buffer, &state, REGION);
		if (!meta)
			break;
		s = gst_video_region_of_interest_meta_get_param(meta, "detection");
		if (s) {
			gst_structure_get_double(s, "confidence", &confidence);
			gst_structure_get_uint(s, "label_id", &class);
		}
		printf("%s %u %u %u %u %.4f %u\n", g_quark_to_string(meta->roi_type), meta->x,
		       meta->y, meta->w, meta->h, confidence, class);
	}
}

static int write_pixels(GstSample *sample, const char *path)
{
	FILE *file = fopen(path, "wb");
	GstVideoFrame frame;
	GstVideoInfo info;

	if (!file || !gst_video_info_from_caps(&info, gst_sample_get_caps(sample)) ||
	    !gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ))
		return -1;
	for (int y = 0; y < GST_VIDEO_FRAME_HEIGHT(&frame); y++)
		fwrite((char *)GST_VIDEO_FRAME_PLANE_DATA(&frame, 0) +
		       y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0), 4,
		       (size_t)GST_VIDEO_FRAME_WIDTH(&frame), file);
	gst_video_frame_unmap(&frame);
	return fclose(file);
}

int main(int argc, char **argv)
{
	GstElement *pipeline, *source, *infer, *sink;
	GError *error = NULL;
	GstSample *sample;
	GstCaps *caps;
	gsize size;
	char *pixels;
	int width, height, err;

	gst_init(&argc, &argv);
	if (argc != 7)
		return 2;
	width = atoi(argv[2]);
	height = atoi(argv[3]);
	if (!g_file_get_contents(argv[5], &pixels, &size, &error) ||
	    size != (gsize)width * (gsize)height * 4)
		return 2;
	pipeline = gst_parse_launch(PIPELINE, &error);
	if (error) {
		fprintf(stderr, "%s\n", error->message);
		return 1;
	}
	source = gst_bin_get_by_name(GST_BIN(pipeline), "source");
	infer = gst_bin_get_by_name(GST_BIN(pipeline), "infer");
	sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
	caps = gst_caps_new_empty_simple("video/x-raw");
	gst_caps_set_simple(caps, "format", G_TYPE_STRING, "RGBA", NULL);
	gst_caps_set_simple(caps, "width", G_TYPE_INT, width, "height", G_TYPE_INT, height, NULL);
	gst_caps_set_simple(caps, "framerate", GST_TYPE_FRACTION, 1, 1, NULL);
	g_object_set(source, "caps", caps, NULL);
	g_object_set(infer, "model", argv[1], NULL);
	gst_element_set_state(pipeline, GST_STATE_PLAYING);
	gst_app_src_push_buffer(GST_APP_SRC(source),
				make_frame(pixels, width, height, atoi(argv[4])));
	gst_app_src_end_of_stream(GST_APP_SRC(source));
	sample = gst_app_sink_pull_sample(GST_APP_SINK(sink));
	err = !sample || write_pixels(sample, argv[6]);
	if (!err)
		print_regions(gst_sample_get_buffer(sample));
	gst_element_set_state(pipeline, GST_STATE_NULL);
	if (sample)
		gst_sample_unref(sample);
	gst_caps_unref(caps);
	gst_object_unref(source);
	gst_object_unref(infer);
	gst_object_unref(sink);
	gst_object_unref(pipeline);
	g_free(pixels);
	return err;
}
