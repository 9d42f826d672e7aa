// A viewer that calls every function of a codec as viewers of older, equal and newer releases do.

#ifndef VIEWER_H
#define VIEWER_H

#include "codec.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns 0, or the line of the failed check. `panics`: true if the codec panics when it opens "PANIC". */
int view(const CodecApi* api, bool panics);

#ifdef __cplusplus
}
#endif

#endif
