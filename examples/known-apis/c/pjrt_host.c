/*
 * A framework in C for the plugin: it calls the table as frameworks call PJRT.
 *
 * pjrt_host LIBRARY
 */

#include <dlfcn.h>
#include <stdio.h>

#include "pjrt_table.h"

static const PJRT_Api* api;

/* Prints the error of a call, and destroys it. */
static int is_ok(const char* call, PJRT_Error* error) {
  if (error == NULL) {
    return 1;
  }
  PJRT_Error_Message_Args message = {.struct_size = sizeof message, .error = error};
  api->PJRT_Error_Message(&message);
  PJRT_Error_GetCode_Args code = {.struct_size = sizeof code, .error = error};
  api->PJRT_Error_GetCode(&code);
  printf("%s: %d %.*s\n", call, (int)code.code, (int)message.message_size, message.message);
  PJRT_Error_Destroy_Args destroy = {.struct_size = sizeof destroy, .error = error};
  api->PJRT_Error_Destroy(&destroy);
  return 0;
}

static void ready(PJRT_Error* error, void* count) {
  *(int*)count += error == NULL;
}

int main(int count, char** arguments) {
  void* library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  if (library == NULL) {
    fprintf(stderr, "usage: pjrt_host LIBRARY\n");
    return 2;
  }
  const PJRT_Api* (*get)(void);
  *(void**)&get = dlsym(library, "GetPjrtApi");
  api = get();
  printf("table of %u bytes, version %d.%d of %u bytes\n", (unsigned)api->struct_size,
         (int)api->pjrt_api_version.major_version, (int)api->pjrt_api_version.minor_version,
         (unsigned)api->pjrt_api_version.struct_size);
  PJRT_Plugin_Initialize_Args initialize = {.struct_size = sizeof initialize};
  is_ok("initialize", api->PJRT_Plugin_Initialize(&initialize));
  printf("attributes: %s\n", api->PJRT_Plugin_Attributes ? "yes" : "no");

  PJRT_Client_Create_Args create = {.struct_size = sizeof create, .num_options = 2};
  is_ok("create", api->PJRT_Client_Create(&create));
  create.num_options = 0;
  is_ok("create", api->PJRT_Client_Create(&create));
  PJRT_Client_PlatformName_Args name = {.struct_size = sizeof name, .client = create.client};
  is_ok("name", api->PJRT_Client_PlatformName(&name));
  PJRT_Client_ProcessIndex_Args index = {.client = create.client, .process_index = 7};
  /* PJRT's size of a struct ends with its last member. */
  index.struct_size = offsetof(PJRT_Client_ProcessIndex_Args, process_index) + sizeof index.process_index;
  is_ok("index", api->PJRT_Client_ProcessIndex(&index));
  printf("%.*s, process %d\n", (int)name.platform_name_size, name.platform_name, (int)index.process_index);
  name.struct_size = 16;
  is_ok("short", api->PJRT_Client_PlatformName(&name));

  int calls = 0;
  PJRT_Event_OnReady_Args on_ready = {
      .struct_size = sizeof on_ready, .event = (PJRT_Event*)1, .callback = ready, .user_arg = &calls};
  is_ok("on ready", api->PJRT_Event_OnReady(&on_ready));
  printf("%d call\n", calls);
  PJRT_Event_Await_Args await = {.struct_size = sizeof await, .event = (PJRT_Event*)2};
  is_ok("await", api->PJRT_Event_Await(&await));

  PJRT_Client_Destroy_Args destroy = {.struct_size = sizeof destroy, .client = create.client};
  is_ok("destroy", api->PJRT_Client_Destroy(&destroy));
  is_ok("destroy", api->PJRT_Client_Destroy(&destroy));
  return 0;
}
