/**
 * @file operator_calls.h
 * @brief Calls of operators by their names: what a plugin exports, and how it reads the arguments of a call.
 *
 * `operators.h` has a struct of arguments and a function that reads them for each operator.
 */
#ifndef TENON_OPERATOR_CALLS_H
#define TENON_OPERATOR_CALLS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "device_ext.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @brief A tensor in device memory. */
typedef struct TenonTensor {
  /** Address of the first element. The element with the indices `i` is `sum(i * strides)` elements behind it. */
  void* data;
  /** Type of the elements. */
  C_DataType data_type;
  /** Number of dimensions; 0 for a single number. */
  size_t rank;
  /** Length of each dimension. */
  const size_t* dims;
  /** Distance between neighbours along each dimension, in elements. It may be zero or negative. */
  const ptrdiff_t* strides;
} TenonTensor;

/** Largest number of dimensions of a `TenonShape`. */
#define TENON_SHAPE_RANK 16

/** @brief The shape of a tensor, which a method computes. */
typedef struct TenonShape {
  /** Number of dimensions. */
  size_t rank;
  /** Length of each dimension; those from `rank` on are ignored. */
  size_t dims[TENON_SHAPE_RANK];
} TenonShape;

/** @brief A text in UTF-8. No zero byte ends it. */
typedef struct TenonText {
  /** Address of the first byte. */
  const char* first;
  /** Number of bytes. */
  size_t count;
} TenonText;

/** @brief Where an operator runs, and room for a message. A later version may append members. */
typedef struct TenonLaunch {
  /** The current device of the calling thread. */
  C_Device device;
  /** The stream of the call; NULL is the default stream of the device. */
  C_Stream stream;
  /** Room for the reason of a failure, as text that ends with a zero byte. It is empty at first. */
  char* message;
  /** Size of that room in bytes. */
  size_t message_size;
} TenonLaunch;

/** No value: an optional tensor or list that is not there. */
#define TENON_KIND_ABSENT UINT32_C(0)
/** Pointers to `TenonTensor`. A pointer in a list of outputs may be NULL. */
#define TENON_KIND_TENSORS UINT32_C(1)
/** `int64_t`. A truth value is 0 or 1. */
#define TENON_KIND_INTEGERS UINT32_C(2)
/** `double` */
#define TENON_KIND_NUMBERS UINT32_C(3)
/** The bytes of a text in UTF-8. */
#define TENON_KIND_TEXT UINT32_C(4)
/** `TenonText` */
#define TENON_KIND_TEXTS UINT32_C(5)

/** @brief An argument of a call. */
typedef struct TenonArgument {
  /** The type of the values: `TENON_KIND_…`. */
  uint32_t kind;
  /** The number of values: 1 unless the method takes a list. */
  size_t count;
  /** The address of the first value. */
  const void* values;
} TenonArgument;

/** @brief A call of a method. A later version may append members. */
typedef struct TenonCall {
  /** Size of this struct in bytes. */
  size_t size;
  /** The name of the method. */
  const char* method;
  /** Where it runs. */
  const TenonLaunch* launch;
  /** The arguments: outputs, inputs, the seed and the offset of random numbers, and attributes. */
  const TenonArgument* arguments;
  /** The number of arguments. The last attributes may be missing: they have their defaults. */
  size_t count;
  /** Room for the shape that the method computes; NULL for a method that computes elements. */
  TenonShape* shape;
} TenonCall;

/** The bit of a type of elements: `TENON_DATA_TYPE(FLOAT32) | TENON_DATA_TYPE(FLOAT64)` */
#define TENON_DATA_TYPE(type) (UINT64_C(1) << (type))

/** @brief A method of a plugin. */
typedef struct TenonMethod {
  /** The name. */
  const char* name;
  /** The function that computes it. */
  C_Status (*function)(const TenonCall* call);
  /** The bits of the types of elements that the function accepts; 0 stands for all types that the operator has. */
  uint64_t data_types;
} TenonMethod;

/** @brief The operators of a plugin, as hosts call them. A later version may append members. */
typedef struct TenonCalls {
  /** `sizeof(TenonCalls)` */
  size_t size;
  /** Returns true if the plugin has a method for elements of a type. */
  bool (*provides)(const char* method, C_DataType data_type);
  /** Calls a method. */
  C_Status (*call)(const TenonCall* call);
} TenonCalls;

/** @brief Writes the reason of a failure to a launch, as `printf` formats it. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline void
tenon_say(const TenonLaunch* launch, const char* format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(launch->message, launch->message_size, format, values);
  va_end(values);
}

/**
 * @name Arguments
 *
 * The functions of `operators.h` read the arguments of a call with these, one after the other.
 * @{
 */

/** @brief The arguments of a call that are not read yet. */
typedef struct TenonArguments {
  /** The call. */
  const TenonCall* call;
  /** The position of the next argument. */
  size_t next;
  /** `C_SUCCESS`, or the status of the first argument that was wrong. Its reason is in the launch. */
  C_Status status;
} TenonArguments;

/** @brief Returns the arguments of a call. It fails with `C_FAILED` if they are more than a method takes. */
static inline TenonArguments tenon_arguments(const TenonCall* call, size_t most) {
  TenonArguments arguments = {call, 0, C_SUCCESS};
  if (call->count > most) {
    tenon_say(call->launch, "the method takes %zu arguments, not %zu", most, call->count);
    arguments.status = C_FAILED;
  }
  return arguments;
}

/** @brief Returns true if the caller passes further arguments. */
static inline bool tenon_has_next(const TenonArguments* arguments) {
  return arguments->next < arguments->call->count;
}

/** @brief Says that the argument that was read last must be something else. */
static inline void tenon_refuse(TenonArguments* arguments, const char* wanted) {
  if (arguments->status == C_SUCCESS) {
    tenon_say(arguments->call->launch, "argument %zu must be %s", arguments->next, wanted);
    arguments->status = C_ERROR;
  }
}

/** @brief Returns the next argument, or NULL if it has another kind and is not absent. */
static inline const TenonArgument* tenon_take_next(TenonArguments* arguments, uint32_t kind, const char* wanted) {
  if (arguments->status == C_SUCCESS && !tenon_has_next(arguments)) {
    tenon_say(arguments->call->launch, "the method takes more arguments");
    arguments->status = C_ERROR;
  }
  if (arguments->status != C_SUCCESS) {
    return NULL;
  }
  const TenonArgument* argument = &arguments->call->arguments[arguments->next++];
  const bool is_there = argument->kind == kind && (argument->count == 0 || argument->values != NULL);
  if (is_there || argument->kind == TENON_KIND_ABSENT) {
    return argument;
  }
  tenon_refuse(arguments, wanted);
  return NULL;
}

/** @brief Reads a list that may be absent: it is NULL then. Returns the first value. */
static inline const void* tenon_take_optional_list(
    TenonArguments* arguments, uint32_t kind, size_t* count, const char* wanted) {
  static const void* const empty[1] = {NULL};
  const TenonArgument* argument = tenon_take_next(arguments, kind, wanted);
  const bool is_there = argument != NULL && argument->kind == kind;
  *count = is_there ? argument->count : 0;
  return !is_there ? NULL : argument->count == 0 ? (const void*)empty : argument->values;
}

/** @brief Reads a list. Returns the first value. */
static inline const void* tenon_take_list(
    TenonArguments* arguments, uint32_t kind, size_t* count, const char* wanted) {
  const void* values = tenon_take_optional_list(arguments, kind, count, wanted);
  if (values == NULL) {
    tenon_refuse(arguments, wanted);
  }
  return values;
}

/** @brief Reads a single value. Returns its address, or NULL if there is not just one. */
static inline const void* tenon_take_value(TenonArguments* arguments, uint32_t kind, const char* wanted) {
  size_t count = 0;
  const void* value = tenon_take_list(arguments, kind, &count, wanted);
  if (count != 1) {
    tenon_refuse(arguments, wanted);
    return NULL;
  }
  return value;
}

/** @brief Reads a tensor that may be absent: it is NULL then. */
static inline const TenonTensor* tenon_take_optional_tensor(TenonArguments* arguments) {
  const char* wanted = "a tensor";
  size_t count = 0;
  const void* list = tenon_take_optional_list(arguments, TENON_KIND_TENSORS, &count, wanted);
  if (list == NULL) {
    return NULL;
  }
  const TenonTensor* tensor = count == 1 ? *(const TenonTensor* const*)list : NULL;
  if (tensor == NULL) {
    tenon_refuse(arguments, wanted);
  }
  return tensor;
}

/** @brief Reads a tensor. */
static inline const TenonTensor* tenon_take_tensor(TenonArguments* arguments) {
  const TenonTensor* tensor = tenon_take_optional_tensor(arguments);
  if (tensor == NULL) {
    tenon_refuse(arguments, "a tensor");
  }
  return tensor;
}

/** @brief Reads a list of outputs. A pointer in it may be NULL. */
static inline const TenonTensor* const* tenon_take_outputs(TenonArguments* arguments, size_t* count) {
  return (const TenonTensor* const*)tenon_take_list(arguments, TENON_KIND_TENSORS, count, "a list of tensors");
}

/** @brief Reads a list of inputs that may be absent: it is NULL then. */
static inline const TenonTensor* const* tenon_take_optional_inputs(TenonArguments* arguments, size_t* count) {
  const char* wanted = "a list of tensors";
  const TenonTensor* const* inputs =
      (const TenonTensor* const*)tenon_take_optional_list(arguments, TENON_KIND_TENSORS, count, wanted);
  for (size_t i = 0; i < *count; ++i) {
    if (inputs[i] == NULL) {
      tenon_refuse(arguments, wanted);
    }
  }
  return inputs;
}

/** @brief Reads a list of inputs. */
static inline const TenonTensor* const* tenon_take_inputs(TenonArguments* arguments, size_t* count) {
  const TenonTensor* const* inputs = tenon_take_optional_inputs(arguments, count);
  if (inputs == NULL) {
    tenon_refuse(arguments, "a list of tensors");
  }
  return inputs;
}

/** @brief Reads an integer. */
static inline int64_t tenon_take_integer(TenonArguments* arguments) {
  const void* value = tenon_take_value(arguments, TENON_KIND_INTEGERS, "an integer");
  return value == NULL ? 0 : *(const int64_t*)value;
}

/** @brief Reads a truth value. */
static inline bool tenon_take_boolean(TenonArguments* arguments) {
  return tenon_take_integer(arguments) != 0;
}

/** @brief Reads a number. */
static inline double tenon_take_number(TenonArguments* arguments) {
  const void* value = tenon_take_value(arguments, TENON_KIND_NUMBERS, "a number");
  return value == NULL ? 0 : *(const double*)value;
}

/** @brief Reads a list of integers. */
static inline const int64_t* tenon_take_integers(TenonArguments* arguments, size_t* count) {
  return (const int64_t*)tenon_take_list(arguments, TENON_KIND_INTEGERS, count, "a list of integers");
}

/** @brief Reads a list of numbers. */
static inline const double* tenon_take_numbers(TenonArguments* arguments, size_t* count) {
  return (const double*)tenon_take_list(arguments, TENON_KIND_NUMBERS, count, "a list of numbers");
}

/** @brief Reads a text. */
static inline TenonText tenon_take_text(TenonArguments* arguments) {
  TenonText text = {NULL, 0};
  text.first = (const char*)tenon_take_list(arguments, TENON_KIND_TEXT, &text.count, "a text");
  return text;
}

/** @brief Reads a list of texts. */
static inline const TenonText* tenon_take_texts(TenonArguments* arguments, size_t* count) {
  return (const TenonText*)tenon_take_list(arguments, TENON_KIND_TEXTS, count, "a list of texts");
}

/** @brief Reads the place for a shape. */
static inline TenonShape* tenon_take_shape(TenonArguments* arguments) {
  TenonShape* shape = arguments->call->shape;
  if (shape == NULL && arguments->status == C_SUCCESS) {
    tenon_say(arguments->call->launch, "there is no room for the shape");
    arguments->status = C_ERROR;
  }
  return shape;
}

/** @brief Returns a string of C as a text. */
static inline TenonText tenon_text_of(const char* string) {
  const TenonText text = {string, strlen(string)};
  return text;
}

/** @brief Returns true if a text equals a string of C. */
static inline bool tenon_text_is(TenonText text, const char* string) {
  const size_t count = strlen(string);
  return text.count == count && (count == 0 || memcmp(text.first, string, count) == 0);
}

/** @} */

/*
 * `operators.h` makes the readers of methods with these: a macro for each kind of parameters, which reads the next argument
 * into the member with the same name. Those with `OR` give it a default if the caller passes no more arguments.
 */
#define TENON_READER_(method, Arguments, most, takes) \
  static inline C_Status tenon_read_##method(const TenonCall* call, Arguments* with) { \
    TenonArguments rest = tenon_arguments(call, most); \
    takes return rest.status; \
  }
#define TENON_ONE_(member, taker) with->member = tenon_take_##taker(&rest);
#define TENON_ONE_OR_(member, taker, value) \
  with->member = tenon_has_next(&rest) ? tenon_take_##taker(&rest) : (value);
#define TENON_LIST_(member, taker) with->member = tenon_take_##taker(&rest, &with->member##_count);
#define TENON_LIST_OR_(member, taker, type, ...) \
  static const type member##_default[] = {__VA_ARGS__}; \
  with->member = member##_default; \
  with->member##_count = sizeof(member##_default) / sizeof(type); \
  if (tenon_has_next(&rest)) { \
    TENON_LIST_(member, taker) \
  }
#define TENON_LIST_OR_NONE_(member, taker) \
  with->member = NULL; \
  with->member##_count = 0; \
  if (tenon_has_next(&rest)) { \
    TENON_LIST_(member, taker) \
  }
#define TENON_SHAPE_(member) TENON_ONE_(member, shape)
#define TENON_TENSOR_(member) TENON_ONE_(member, tensor)
#define TENON_OPTIONAL_TENSOR_(member) TENON_ONE_(member, optional_tensor)
#define TENON_OUTPUTS_(member) TENON_LIST_(member, outputs)
#define TENON_INPUTS_(member) TENON_LIST_(member, inputs)
#define TENON_OPTIONAL_INPUTS_(member) TENON_LIST_(member, optional_inputs)
#define TENON_BOOLEAN_(member) TENON_ONE_(member, boolean)
#define TENON_BOOLEAN_OR_(member, value) TENON_ONE_OR_(member, boolean, value)
#define TENON_INTEGER_(member) TENON_ONE_(member, integer)
#define TENON_INTEGER_OR_(member, value) TENON_ONE_OR_(member, integer, value)
#define TENON_NUMBER_(member) TENON_ONE_(member, number)
#define TENON_NUMBER_OR_(member, value) TENON_ONE_OR_(member, number, value)
#define TENON_INTEGERS_(member) TENON_LIST_(member, integers)
#define TENON_INTEGERS_OR_(member, ...) TENON_LIST_OR_(member, integers, int64_t, __VA_ARGS__)
#define TENON_INTEGERS_OR_NONE_(member) TENON_LIST_OR_NONE_(member, integers)
#define TENON_NUMBERS_(member) TENON_LIST_(member, numbers)
#define TENON_NUMBERS_OR_(member, ...) TENON_LIST_OR_(member, numbers, double, __VA_ARGS__)
#define TENON_NUMBERS_OR_NONE_(member) TENON_LIST_OR_NONE_(member, numbers)
#define TENON_TEXT_(member) TENON_ONE_(member, text)
#define TENON_TEXT_OR_(member, value) TENON_ONE_OR_(member, text, tenon_text_of(value))
#define TENON_TEXTS_(member) TENON_LIST_(member, texts)
#define TENON_TEXTS_OR_(member, ...) TENON_LIST_OR_(member, texts, TenonText, __VA_ARGS__)
#define TENON_TEXTS_OR_NONE_(member) TENON_LIST_OR_NONE_(member, texts)

/**
 * @name Export
 * @{
 */

/** @brief Returns the method with a name, or NULL. */
static inline const TenonMethod* tenon_find_method(
    const TenonMethod* methods, size_t count, const char* name) {
  for (size_t i = 0; name != NULL && i < count; ++i) {
    if (strcmp(methods[i].name, name) == 0) {
      return &methods[i];
    }
  }
  return NULL;
}

/** @brief Returns true if a method is among those of a plugin, for elements of a type. */
static inline bool tenon_has_method(
    const TenonMethod* methods, size_t count, const char* name, C_DataType data_type) {
  const TenonMethod* method = tenon_find_method(methods, count, name);
  if (method == NULL || method->function == NULL) {
    return false;
  }
  const int number = (int)data_type;
  return method->data_types == 0 ||
         (number >= 0 && number < 64 && (method->data_types & TENON_DATA_TYPE(number)) != 0);
}

/** @brief Calls a method of a plugin. */
static inline C_Status tenon_call_method(const TenonMethod* methods, size_t count, const TenonCall* call) {
  if (call == NULL || call->size < sizeof(TenonCall) || call->launch == NULL ||
      (call->count > 0 && call->arguments == NULL)) {
    return C_ERROR;
  }
  const TenonMethod* method = tenon_find_method(methods, count, call->method);
  if (method == NULL || method->function == NULL) {
    tenon_say(call->launch, "`%s` is not implemented by this device", call->method == NULL ? "" : call->method);
    return C_FAILED;
  }
  return method->function(call);
}

#if defined(__GNUC__)
#define TENON_EXPORT_ __attribute__((visibility("default")))
#else
#define TENON_EXPORT_
#endif

/**
 * @brief Returns the operators of a plugin.
 *
 * `TENON_EXPORT_OPERATORS` defines it. libtenon and its Python package find it by its name, and a plugin passes its result to
 * `tenon_paddle_register_operators`.
 */
TENON_EXPORT_ const TenonCalls* tenon_operator_calls(void);

/**
 * @brief Exports the operators of a plugin.
 *
 * Write the macro once, at the level of a file, with a semicolon. In C++, write it outside of namespaces.
 *
 * @param methods An array of `TenonMethod`.
 */
#define TENON_EXPORT_OPERATORS(methods) \
  static bool tenon_provides_(const char* name, C_DataType data_type) { \
    return tenon_has_method(methods, sizeof(methods) / sizeof((methods)[0]), name, data_type); \
  } \
  static C_Status tenon_call_(const TenonCall* call) { \
    return tenon_call_method(methods, sizeof(methods) / sizeof((methods)[0]), call); \
  } \
  const TenonCalls* tenon_operator_calls(void) { \
    static const TenonCalls calls = {sizeof(TenonCalls), tenon_provides_, tenon_call_}; \
    return &calls; \
  } \
  const TenonCalls* tenon_operator_calls(void)

/** @} */

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_OPERATOR_CALLS_H
