// A viewer: calls every function of a codec as older, equal and newer viewers do.

#ifndef VIEWER_H
#define VIEWER_H

#include "codec.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns 0, or the line of the check that failed. `panics`: whether the codec panics when it opens "PANIC". */
int view(const CodecApi* api, bool panics);

#ifdef __cplusplus
}
#endif

#endif
