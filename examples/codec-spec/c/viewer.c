// A viewer that calls every function of a codec as viewers of older, equal and newer releases do. Valid C11 and C++17.

#include "viewer.h"

#include <string.h>

#define CHECK(condition)   \
  do {                     \
    if (!(condition)) {    \
      return __LINE__;     \
    }                      \
  } while (0)

// An image consists of "IMG", its width, its height and an alpha flag.
static const unsigned char FILE_DATA[] = {'I', 'M', 'G', 8, 4, 1};

// Guard bytes, which a codec must not change.
enum { GUARD = 0xE5 };

typedef union Guarded {
  CodecOpenArgs args;
  unsigned char bytes[sizeof(CodecOpenArgs) + 64];
} Guarded;

static void prepare(Guarded* guarded, size_t size, const void* data, size_t length) {
  memset(guarded->bytes, GUARD, sizeof guarded->bytes);
  memset(guarded->bytes, 0, size < sizeof(CodecOpenArgs) ? size : sizeof(CodecOpenArgs));
  guarded->args.struct_size = size;
  guarded->args.data = data;
  guarded->args.size = length;
}

static bool is_untouched(const Guarded* guarded, size_t from) {
  for (size_t at = from; at < sizeof guarded->bytes; ++at) {
    if (guarded->bytes[at] != GUARD) return false;
  }
  return true;
}

// Returns true if an error has the given code and text. Destroys the error.
static bool fails(const CodecApi* api, CodecError* error, CodecErrorCode code, const char* part) {
  if (error == NULL) return false;
  const bool is_right = api->error_code(error) == code && strstr(api->error_message(error), part) != NULL;
  api->error_destroy(error);
  return is_right;
}

static int view_as(const CodecApi* api, size_t size) {
  Guarded guarded;
  prepare(&guarded, size, FILE_DATA, sizeof FILE_DATA);
  const size_t end = offsetof(CodecOpenArgs, has_alpha) + sizeof(bool);
  const bool is_new = size >= end;
  if (is_new) guarded.args.scale = 2;
  CHECK(api->image_open(&guarded.args) == NULL);
  CHECK(guarded.args.image != NULL);
  // A viewer whose arguments have no `scale` gets the whole image.
  CHECK(guarded.args.width == (is_new ? 4u : 8u) && guarded.args.height == (is_new ? 2u : 4u));
  CHECK(!is_new || guarded.args.has_alpha);
  CHECK(is_untouched(&guarded, size < sizeof(CodecOpenArgs) ? size : sizeof(CodecOpenArgs)));
  CHECK(api->image_close(guarded.args.image) == NULL);
  return 0;
}

static int refuse(const CodecApi* api, bool panics) {
  Guarded guarded;
  prepare(&guarded, sizeof(CodecOpenArgs), "GIF", 3);
  CHECK(fails(api, api->image_open(&guarded.args), CODEC_DAMAGED, "GIF"));
  // Shorter than the arguments of the first release.
  prepare(&guarded, offsetof(CodecOpenArgs, height), FILE_DATA, sizeof FILE_DATA);
  CHECK(fails(api, api->image_open(&guarded.args), CODEC_BAD_ARGUMENT, "bytes"));
  CHECK(is_untouched(&guarded, offsetof(CodecOpenArgs, height)));
  CHECK(fails(api, api->image_open(NULL), CODEC_BAD_ARGUMENT, "args"));
  if (panics) {
    prepare(&guarded, sizeof(CodecOpenArgs), "PANIC", 5);
    CHECK(fails(api, api->image_open(&guarded.args), CODEC_DEFECT, "the codec gives up"));
  }
  api->error_destroy(NULL);
  return 0;
}

static int view_tiles(const CodecApi* api, CodecImage* image) {
  size_t number = 0;
  CHECK(api->tile_count(image, &number) == NULL && number == 2);
  CodecTilesArgs list;
  memset(&list, 0, sizeof list);
  list.struct_size = sizeof list;
  list.image = image;
  CHECK(api->image_tiles(&list) == NULL);
  CHECK(list.number == 2 && list.tiles[0] != list.tiles[1]);
  uint64_t rows = 0;
  CHECK(api->tile_rows(list.tiles, list.number, &rows) == NULL && rows == 4);
  CHECK(api->tile_rows(&list.tiles[1], 1, &rows) == NULL && rows == 2);
  return 0;
}

static int read(const CodecApi* api) {
  Guarded guarded;
  prepare(&guarded, sizeof(CodecOpenArgs), FILE_DATA, sizeof FILE_DATA);
  guarded.args.scale = 1;
  CHECK(api->image_open(&guarded.args) == NULL);
  CodecImage* image = guarded.args.image;

  unsigned char pixels[8 * 4 * 4 + 1];
  memset(pixels, GUARD, sizeof pixels);
  CodecDecodeArgs decode;
  memset(&decode, 0, sizeof decode);
  decode.struct_size = sizeof decode;
  decode.image = image;
  decode.pixels = pixels;
  decode.size = 3;
  CHECK(fails(api, api->image_decode(&decode), CODEC_BAD_ARGUMENT, "pixels"));
  CHECK(decode.written == 0);
  decode.size = sizeof pixels;
  CHECK(api->image_decode(&decode) == NULL);
  CHECK(decode.written == sizeof pixels - 1 && pixels[decode.written - 1] == 0x7F && pixels[decode.written] == GUARD);

  const int line = view_tiles(api, image);
  if (line != 0) return line;

  if (IMAGING_CODEC_HAS_FUNCTION(api, read_metadata)) {
    char text[16];
    size_t length = 0;
    CHECK(api->read_metadata(image, "author", text, sizeof text, &length) == NULL);
    CHECK(length == 3 && memcmp(text, "Ada", 3) == 0);
    CHECK(fails(api, api->read_metadata(image, "title", text, sizeof text, &length), CODEC_BAD_ARGUMENT, "title"));
  }
  CHECK(api->image_close(image) == NULL);
  CHECK(fails(api, api->image_close(NULL), CODEC_BAD_ARGUMENT, "image"));
  return 0;
}

int view(const CodecApi* api, bool panics) {
  CHECK(api != NULL && api->struct_size >= IMAGING_CODEC_SIZE_1_0);
  CHECK(api->extension == NULL && api->version.major == IMAGING_CODEC_MAJOR_VERSION && api->max_pixels == 64);
  // Argument sizes of a viewer of release 1.0, of this release, and of a newer release with more members.
  const size_t sizes[] = {offsetof(CodecOpenArgs, scale), sizeof(CodecOpenArgs), sizeof(CodecOpenArgs) + 32};
  for (size_t at = 0; at < sizeof sizes / sizeof *sizes; ++at) {
    const int line = view_as(api, sizes[at]);
    if (line != 0) return line;
  }
  const int line = refuse(api, panics);
  return line != 0 ? line : read(api);
}
