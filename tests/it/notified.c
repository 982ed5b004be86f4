/*
 * notified.c - a desktop's notification service without a screen, for
 * notify.sh: prints a line for every notification that it is to show,
 *
 *   ID URGENCY ICON|SUMMARY|BODY
 *
 * As on real desktops, bodies are markup. With DX_LIMIT=N in the environment,
 * it refuses all but the first N.
 */
#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME "org.freedesktop.Notifications"
#define PATH "/org/freedesktop/Notifications"

static const char interface[] =
    "<node><interface name='" NAME "'>"
    "<method name='Notify'>"
    "<arg type='s'/><arg type='u'/><arg type='s'/><arg type='s'/>"
    "<arg type='s'/><arg type='as'/><arg type='a{sv}'/><arg type='i'/>"
    "<arg type='u' direction='out'/></method>"
    "<method name='GetCapabilities'>"
    "<arg type='as' direction='out'/></method>"
    "<method name='GetServerInformation'>"
    "<arg type='s' direction='out'/><arg type='s' direction='out'/>"
    "<arg type='s' direction='out'/><arg type='s' direction='out'/></method>"
    "<signal name='NotificationClosed'><arg type='u'/><arg type='u'/></signal>"
    "</interface></node>";

static unsigned int last_id;

static unsigned int show(GVariant *arguments)
{
  const char *icon, *summary, *body;
  unsigned int id;
  unsigned char urgency = 1;
  GVariant *hints;

  g_variant_get(arguments, "(&su&s&s&s^a&s@a{sv}i)", NULL, &id, &icon, &summary,
                &body, NULL, &hints, NULL);
  (void)g_variant_lookup(hints, "urgency", "y", &urgency);
  g_variant_unref(hints);
  id = ++last_id;
  printf("%u %u %s|%s|%s\n", id, urgency, icon, summary, body);
  return id;
}

static void on_call(GDBusConnection *bus, const char *sender, const char *path,
                    const char *of, const char *method, GVariant *arguments,
                    GDBusMethodInvocation *call, void *data)
{
  const char *limit = getenv("DX_LIMIT");
  GVariant *reply;

  (void)bus, (void)sender, (void)path, (void)of, (void)data;
  if (g_str_equal(method, "Notify") && limit != NULL &&
      last_id == (unsigned int)atoi(limit)) {
    g_dbus_method_invocation_return_dbus_error(call, NAME ".Error", "full");
    return;
  }
  if (g_str_equal(method, "Notify"))
    reply = g_variant_new("(u)", show(arguments));
  else if (g_str_equal(method, "GetCapabilities"))
    reply = g_variant_new_parsed("(['body', 'body-markup'],)");
  else
    reply = g_variant_new("(ssss)", "desktop", "docextract", "1", "1.2");
  g_dbus_method_invocation_return_value(call, reply);
}

static void on_bus(GDBusConnection *bus, const char *name, void *data)
{
  static const GDBusInterfaceVTable calls = {.method_call = on_call};
  GDBusNodeInfo *node = g_dbus_node_info_new_for_xml(interface, NULL);

  (void)name, (void)data;
  (void)g_dbus_connection_register_object(bus, PATH, node->interfaces[0],
                                          &calls, NULL, NULL, NULL);
  g_dbus_node_info_unref(node);
}

static void on_name(GDBusConnection *bus, const char *name, void *data)
{
  (void)bus, (void)name, (void)data;
  puts("ready");
}

int main(void)
{
  (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  (void)g_bus_own_name(G_BUS_TYPE_SESSION, NAME, G_BUS_NAME_OWNER_FLAGS_NONE,
                       on_bus, on_name, NULL, NULL, NULL);
  g_main_loop_run(g_main_loop_new(NULL, FALSE));
  return 0;
}
