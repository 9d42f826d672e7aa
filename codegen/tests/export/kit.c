/* The library that the test's spec describes. It shows which arguments arrive. */
#include "kit/kit.h"

#include <string.h>

static size_t boxes;
static int64_t numbers[16];
static uint32_t filled;
static char name_of_box[32];
static const char* message;

static kitError wrong(const char* text) {
  message = text;
  return KIT_WRONG;
}

kitError kitMakeBox(kitBox* box, kitColour colour) {
  if (colour == KIT_UNKNOWN) {
    return wrong("kitMakeBox: nobody knows the colour");
  }
  boxes += 1;
  /* Larger than what a signed number takes, so that handles are seen to have no sign. */
  *box = (kitBox)(uintptr_t)(0xfedcba9876543210u + (unsigned)colour);
  return KIT_SUCCESS;
}

kitError kitFreeBox(kitBox box) {
  if (box == NULL) {
    return wrong("kitFreeBox: this one is always there");
  }
  boxes -= 1;
  return KIT_SUCCESS;
}

size_t kitCountBoxes(void) { return boxes; }

kitColour kitColourOf(kitBox box) { return box == NULL ? KIT_UNKNOWN : (kitColour)((uintptr_t)box & 1); }

kitError kitSwitchPorts(kitPorts ports, kitPorts* switched) {
  /* With the type of C, since `-Werror` refuses a comparison with another sign. */
  *switched = ports == KIT_PORT_LAST ? KIT_PORT_LAST | KIT_PORT_FIRST : ports;
  return KIT_SUCCESS;
}

kitSerial kitSerialOf(kitBox box) { return box == NULL ? KIT_SERIAL_ANY : KIT_SERIAL_FIRST; }

kitError kitMeasure(kitBox box, const kitSize* wanted, kitSize* size, float* weight) {
  memset(size, 0, sizeof *size);
  size->place.shelfNumber = -7;
  size->place.address = box;
  for (int side = 0; side < 3; ++side) {
    size->sides[side] = wanted == NULL ? 0 : (uint16_t)(wanted->sides[side] + 1);
  }
  memcpy(size->mark, "\xff\x01\x02\x03", 4);
  *weight = wanted == NULL ? 0.5f : (float)wanted->place.shelfNumber;
  return KIT_SUCCESS;
}

kitError kitFillBox(kitBox box, const int64_t* values, const double* weights, uint32_t count, uint64_t* room) {
  (void)box;
  for (filled = 0; filled < count && filled < 16; ++filled) {
    numbers[filled] = values[filled] + (int64_t)weights[filled];
  }
  *room -= count;
  return KIT_SUCCESS;
}

kitError kitListNumbers(kitBox box, int64_t* values, uint32_t count) {
  (void)box;
  for (uint32_t index = 0; index < count; ++index) {
    values[index] = index < filled ? numbers[index] : -1;
  }
  return KIT_SUCCESS;
}

const kitLabel* kitLabelOf(kitBox box) { return (const kitLabel*)box; }

kitError kitVisit(kitVisitor visitor, void* context) {
  visitor(context);
  return KIT_SUCCESS;
}

kitError kitPaint(kitBox box, kitChooser chooser, void* context, kitColour* painted) {
  *painted = chooser(kitColourOf(box), context);
  return KIT_SUCCESS;
}

kitError kitMelt(kitBox box, kitEither* either) {
  (void)box;
  (void)either;
  return KIT_ABSENT;
}

void* kitMelted(void) { return NULL; }

kitError kitOpen(const char* path) {
  message = path == NULL ? "opened" : "opened a file";
  return KIT_SUCCESS;
}

kitError kitTextName(kitBox box, const char* name) {
  (void)box;
  strncpy(name_of_box, name, sizeof name_of_box - 1);
  return KIT_SUCCESS;
}

kitError kitTextNameOf(kitBox box, char* name, size_t length) {
  (void)box;
  strncpy(name, name_of_box, length - 1);
  return KIT_SUCCESS;
}

const char* kitTextMessage(void) {
  const char* text = message;
  message = NULL;
  return text;
}
