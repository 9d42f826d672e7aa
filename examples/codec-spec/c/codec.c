// A codec in C. With `-DRELEASE_1_0`, it is built for the first release.

#include "codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CodecError {
  CodecErrorCode code;
  char message[80];
};

struct CodecTile {
  uint64_t rows;
};

struct CodecImage {
  uint32_t width, height;
  struct CodecTile parts[2];
  CodecTile* tiles[2];
};

static CodecError* failed(CodecErrorCode code, const char* message) {
  CodecError* error = malloc(sizeof *error);
  if (error == NULL) abort();
  error->code = code;
  snprintf(error->message, sizeof error->message, "%s", message);
  return error;
}

static CodecErrorCode error_code(const CodecError* error) { return error->code; }
static const char* error_message(const CodecError* error) { return error->message; }
static void error_destroy(CodecError* error) { free(error); }

static CodecError* image_open(CodecOpenArgs* args) {
  if (args == NULL || !IMAGING_CODEC_HAS_ARG(args, CodecOpenArgs, height)) {
    return failed(CODEC_BAD_ARGUMENT, "`args` has too few bytes");
  }
  const unsigned char* data = args->data;
  if (args->size < 6 || memcmp(data, "IMG", 3) != 0) return failed(CODEC_DAMAGED, "this is no image, but a GIF");
  uint32_t scale = 1;
#ifndef RELEASE_1_0
  if (IMAGING_CODEC_HAS_ARG(args, CodecOpenArgs, scale)) scale = args->scale;
  if (scale < 1 || scale > 8) return failed(CODEC_BAD_ARGUMENT, "`scale` is not in 1 to 8");
#endif
  CodecImage* image = calloc(1, sizeof *image);
  if (image == NULL) return failed(CODEC_DEFECT, "there is no memory left");
  image->width = data[3] / scale;
  image->height = data[4] / scale;
  for (int at = 0; at < 2; ++at) {
    image->parts[at].rows = image->height / 2;
    image->tiles[at] = &image->parts[at];
  }
  args->image = image;
  args->width = image->width;
  args->height = image->height;
#ifndef RELEASE_1_0
  if (IMAGING_CODEC_HAS_ARG(args, CodecOpenArgs, has_alpha)) args->has_alpha = data[5] != 0;
#endif
  return NULL;
}

static CodecError* image_close(CodecImage* image) {
  if (image == NULL) return failed(CODEC_BAD_ARGUMENT, "`image` is null");
  free(image);
  return NULL;
}

static CodecError* image_decode(CodecDecodeArgs* args) {
  const size_t bytes = (size_t)args->image->width * args->image->height * 4;
  if (args->size < bytes) return failed(CODEC_BAD_ARGUMENT, "`pixels` is too short");
  memset(args->pixels, 0x7F, bytes);
  args->written = bytes;
  return NULL;
}

static CodecError* tile_count(CodecImage* image, size_t* number) {
  (void)image;
  *number = 2;
  return NULL;
}

static CodecError* image_tiles(CodecTilesArgs* args) {
  args->tiles = args->image->tiles;
  args->number = 2;
  return NULL;
}

static CodecError* tile_rows(CodecTile* const* tiles, size_t number, uint64_t* rows) {
  *rows = 0;
  for (size_t at = 0; at < number; ++at) *rows += tiles[at]->rows;
  return NULL;
}

#ifdef RELEASE_1_0
typedef CodecApi_v1_0 Table;
#else
typedef CodecApi Table;

static CodecError* read_metadata(CodecImage* image, const char* key, char* text, size_t capacity, size_t* length) {
  (void)image;
  if (strcmp(key, "author") != 0) {
    char message[80];
    snprintf(message, sizeof message, "there is no text under %.40s", key);
    return failed(CODEC_BAD_ARGUMENT, message);
  }
  if (capacity < 3) return failed(CODEC_BAD_ARGUMENT, "`text` is too short");
  memcpy(text, "Ada", 3);
  *length = 3;
  return NULL;
}
#endif

const CodecApi* imaging_get_codec_api(void) {
  static const Table table = {
      .struct_size = sizeof table,
      .version = {IMAGING_CODEC_MAJOR_VERSION, IMAGING_CODEC_MINOR_VERSION},
      .max_pixels = 64,
      .error_code = error_code,
      .error_message = error_message,
      .error_destroy = error_destroy,
      .image_open = image_open,
      .image_close = image_close,
      .image_decode = image_decode,
      .tile_count = tile_count,
      .image_tiles = image_tiles,
      .tile_rows = tile_rows,
#ifndef RELEASE_1_0
      .read_metadata = read_metadata,
#endif
  };
  return (const CodecApi*)(const void*)&table;
}
