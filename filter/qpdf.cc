/*
 * qpdf.cc - the C++ behind qpdf.h.
 */
#include "filter/qpdf.h"

#include <climits>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#define POINTERHOLDER_TRANSITION 4 /* no deprecated classes */
#include <qpdf/DLL.h>
#include <qpdf/Buffer.hh>
#include <qpdf/Pipeline.hh>
#include <qpdf/QPDF.hh>

/* Debian 12 has 11.3. Its struct _qpdf_data, which no header declares, begins
 * with this pointer. A direct null is the same as an absent value, but newer
 * versions do not distinguish it from a reference to nothing. It is rare. */
#if QPDF_MAJOR_VERSION == 11 && QPDF_MINOR_VERSION < 7
static std::shared_ptr<QPDF> qpdf_c_get_qpdf(qpdf_data data)
{
  return *reinterpret_cast<std::shared_ptr<QPDF> *>(data);
}
#define NULL_MAY_BE_LOST false
#else
#define NULL_MAY_BE_LOST true
#endif

namespace
{
bool is_lost(QPDFObjectHandle value)
{
  return value.isNull() && (value.isIndirect() || NULL_MAY_BE_LOST);
}

/* Throws if direct objects are nested too deeply. */
void walk(QPDFObjectHandle object, uint64_t roles, bool strip, int depth,
          qpdf_visitor *visitor, void *ctx)
{
  bool in_stream = object.isStream();
  auto may_stay = [&](const char *key, QPDFObjectHandle value) {
    std::string subtype;

    if (value.isStream())
      (void)value.getDict().getKey("/Subtype").getValueAsName(subtype);
    qpdf_entry entry = {key,
                        in_stream,
                        roles,
                        value.getObjectID(),
                        value.getGeneration(),
                        key != nullptr ? is_lost(value) : value.isNull(),
                        value.getTypeCode(),
                        subtype.c_str()};
    uint64_t found = visitor(ctx, &entry);
    if (found != 0 && !value.isIndirect() && !value.isScalar())
      walk(value, found, strip, depth + 1, visitor, ctx);
    return found != 0;
  };

  if (depth == QPDF_DEPTH_MAX)
    throw std::runtime_error("nested too deeply");
  if (in_stream)
    object = object.getDict();
  if (object.isArray()) {
    for (int i = 0; i < object.getArrayNItems(); i++)
      if (!may_stay(nullptr, object.getArrayItem(i)) && strip)
        object.setArrayItem(i, QPDFObjectHandle::newNull());
  } else if (object.isDictionary()) {
    for (auto &entry : object.getDictAsMap())
      if (!may_stay(entry.first.c_str(), entry.second) && strip)
        object.removeKey(entry.first);
  }
}

QPDFObjectHandle object_of(qpdf_data data, qpdf_oh object)
{
  return qpdf_c_get_qpdf(data)->getObjectByID(
      qpdf_oh_get_object_id(data, object),
      qpdf_oh_get_generation(data, object));
}
} // namespace

void qpdf_exit_when_out(int status)
{
  static int exit_status;

  exit_status = status;
  std::set_new_handler([] { _exit(exit_status); });
}

bool qpdf_walk(qpdf_data data, int id, int generation, uint64_t roles,
               bool strip, qpdf_visitor *visitor, void *ctx)
{
  try {
    auto pdf = qpdf_c_get_qpdf(data);
    walk(id == 0 ? pdf->getTrailer() : pdf->getObjectByID(id, generation),
         roles, strip, 0, visitor, ctx);
    return true;
  } catch (std::exception &) {
    return false;
  }
}

bool qpdf_is_lost(qpdf_data data, qpdf_oh dict, const char *key)
{
  try {
    if (!qpdf_oh_is_indirect(data, dict))
      return false;
    auto entries = object_of(data, dict).getDictAsMap();
    return entries.count(key) > 0 && is_lost(entries[key]);
  } catch (std::exception &) {
    return true;
  }
}

bool qpdf_rewrite_stream(qpdf_data data, qpdf_oh object,
                         const struct unpack_stage *stages, size_t count,
                         qpdf_cleaner *clean)
{
  try {
    auto stream = object_of(data, object), original = stream.copyStream();
    std::vector<unpack_stage> packed(stages, stages + count);
    auto provide = [original, packed, clean](Pipeline *to) mutable {
      auto raw = original.getRawStreamData();
      long long left = LLONG_MAX;
      unpacked u = {};
      dx_buf copy = {};

      u.keep = true;
      u.most = SIZE_MAX;
      u.left = &left;
      unpack(packed.data(), packed.size(), raw->getBuffer(), raw->getSize(),
             &u);
      clean(reinterpret_cast<const unsigned char *>(u.bytes.data), u.bytes.len,
            &copy);
      dx_buf_release(&u.bytes);
      if (u.end == UNPACK_NO_MEMORY || !dx_buf_ok(&copy))
        throw std::runtime_error("out of memory");
      to->write(copy.data, copy.len);
      to->finish();
      dx_buf_release(&copy);
    };

    stream.replaceStreamData(provide, {}, {});
    return true;
  } catch (std::exception &) {
    return false;
  }
}

void qpdf_copy_inline_dict(const unsigned char *dict, size_t len,
                           struct dx_buf *copy)
{
  std::string text(reinterpret_cast<const char *>(dict), len);

  try {
    auto entries = QPDFObjectHandle::parse("<<" + text + ">>");
    for (auto key : {"/F", "/Filter", "/DP", "/DecodeParms", "/L", "/Length"})
      entries.removeKey(key);
    text = entries.unparse();
    dx_buf_add(copy, text.data() + 2, text.size() - 4);
  } catch (std::exception &) {
    copy->failed = true;
  }
}
