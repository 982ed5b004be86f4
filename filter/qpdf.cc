/*
 * qpdf.cc - the C++ behind qpdf.h.
 */
#include "filter/qpdf.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <unistd.h>

#define POINTERHOLDER_TRANSITION 4 /* no deprecated classes */
#include <qpdf/DLL.h>
#include <qpdf/Buffer.hh>
#include <qpdf/Pipeline.hh>
#include <qpdf/Pl_String.hh>
#include <qpdf/QPDF.hh>

/* Debian 12 has 11.3. Its struct _qpdf_data, which no header declares, begins
 * with this pointer. */
#if QPDF_MAJOR_VERSION == 11 && QPDF_MINOR_VERSION < 7
static std::shared_ptr<QPDF> qpdf_c_get_qpdf(qpdf_data data)
{
  return *reinterpret_cast<std::shared_ptr<QPDF> *>(data);
}
#endif

/* A null without a reference is as if absent, but newer versions do not
 * distinguish it from a reference to nothing. It is hardly ever written. */
#if QPDF_MAJOR_VERSION == 11 && QPDF_MINOR_VERSION < 7
#define NULL_MAY_BE_LOST false
#else
#define NULL_MAY_BE_LOST true
#endif

namespace
{
struct Search {
  qpdf_null_found *found;
  void *ctx;
  const char *keys[QPDF_DEPTH_MAX];
};

bool search_nulls(Search &search, QPDFObjectHandle object, int depth)
{
  if (object.isStream())
    object = object.getDict();
  if (depth == QPDF_DEPTH_MAX)
    return false;
  if (object.isArray()) {
    for (int i = 0; i < object.getArrayNItems(); i++) {
      QPDFObjectHandle item = object.getArrayItem(i);
      if (item.isDictionary() && !item.isIndirect() &&
          !search_nulls(search, item, depth))
        return false;
    }
    return true;
  }
  if (!object.isDictionary())
    return true;
  for (auto &entry : object.getDictAsMap()) {
    search.keys[depth] = entry.first.c_str();
    if (entry.second.isNull()) {
      if ((NULL_MAY_BE_LOST || entry.second.isIndirect()) &&
          !search.found(search.ctx, search.keys, depth + 1))
        return false;
    } else if (!entry.second.isIndirect() &&
               !search_nulls(search, entry.second, depth + 1)) {
      return false;
    }
  }
  return true;
}

/* Writes to a pipeline of libqpdf. No exception may pass through C. */
struct Sink {
  Pipeline *pipeline;
  std::exception_ptr error;
};

bool write_to_sink(void *ctx, const void *bytes, size_t len)
{
  Sink *sink = static_cast<Sink *>(ctx);

  try {
    sink->pipeline->write(static_cast<const unsigned char *>(bytes), len);
    return true;
  } catch (std::exception &) {
    sink->error = std::current_exception();
    return false;
  }
}

class Rewriter : public QPDFObjectHandle::StreamDataProvider
{
public:
  Rewriter(QPDFObjectHandle from, qpdf_rewriter *with)
      : original(from), rewriter(with)
  {
  }

  void provideStreamData(QPDFObjGen const &, Pipeline *pipeline) override
  {
    auto raw = original.getRawStreamData();
    Sink sink = {pipeline, nullptr};

    if (!rewriter(raw->getBuffer(), raw->getSize(), write_to_sink, &sink) &&
        sink.error == nullptr)
      throw std::runtime_error("stream cannot be rewritten");
    if (sink.error != nullptr)
      std::rethrow_exception(sink.error);
    pipeline->finish();
  }

private:
  QPDFObjectHandle original;
  qpdf_rewriter *rewriter;
};

constexpr int SAME_DEPTH_MAX = 32; /* of resources within resources */
constexpr int SAME_VALUES_MAX = 1000000;

/* How a stream is encoded and where an object belongs may differ. */
std::map<std::string, QPDFObjectHandle> entries_of(QPDFObjectHandle dict)
{
  auto entries = dict.getDictAsMap();

  for (auto key :
       {"/Length", "/Filter", "/DecodeParms", "/Parent", "/StructParents"})
    entries.erase(key);
  for (auto at = entries.begin(); at != entries.end();)
    at = at->second.isNull() ? entries.erase(at) : std::next(at);
  return entries;
}

/* False if it cannot be read. An image may be as it is stored. */
bool read_stream(QPDFObjectHandle stream, std::string &bytes)
{
  Pl_String to("", nullptr, bytes);

  return stream.pipeStreamData(&to, nullptr, 0, qpdf_dl_generalized, true);
}

/* `left`: what is used twice is visited twice, and forms that show each other
 * could be in any number of ways. */
bool is_same(QPDFObjectHandle a, QPDFObjectHandle b, int depth, int &left)
{
  std::string bytes_a, bytes_b;

  if (depth > SAME_DEPTH_MAX || --left < 0 ||
      a.getTypeCode() != b.getTypeCode())
    return false;
  if (a.isArray()) {
    int count = a.getArrayNItems(), i = 0;

    while (i < count && b.getArrayNItems() == count &&
           is_same(a.getArrayItem(i), b.getArrayItem(i), depth + 1, left))
      i++;
    return i == count && b.getArrayNItems() == count;
  }
  if (a.isStream())
    return is_same(a.getDict(), b.getDict(), depth, left) &&
           read_stream(a, bytes_a) && read_stream(b, bytes_b) &&
           bytes_a == bytes_b;
  if (a.isDictionary()) {
    auto of_a = entries_of(a), of_b = entries_of(b);

    return of_a.size() == of_b.size() &&
           std::equal(of_a.begin(), of_a.end(), of_b.begin(),
                      [&](auto &x, auto &y) {
                        return x.first == y.first &&
                               is_same(x.second, y.second, depth + 1, left);
                      });
  }
  return a.unparseResolved() == b.unparseResolved();
}

/* Joining streams adds blanks at the end. */
std::string content_of(QPDFObjectHandle page)
{
  std::string bytes;
  Pl_String to("", nullptr, bytes);

  page.pipePageContents(&to);
  bytes.erase(bytes.find_last_not_of(std::string(" \r\n\t\0", 5)) + 1);
  return bytes;
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

bool qpdf_each_null(qpdf_data data, qpdf_oh object, qpdf_null_found *found,
                    void *ctx)
{
  Search search = {found, ctx, {}};

  try {
    return search_nulls(search, object_of(data, object), 0);
  } catch (std::exception &) {
    return false;
  }
}

bool qpdf_rewrite_stream(qpdf_data data, qpdf_oh object,
                         qpdf_rewriter *rewriter)
{
  try {
    auto stream = object_of(data, object);
    auto dict = stream.getDict();

    stream.replaceStreamData(
        std::make_shared<Rewriter>(stream.copyStream(), rewriter),
        dict.getKey("/Filter"), dict.getKey("/DecodeParms"));
    return true;
  } catch (std::exception &) {
    return false;
  }
}

bool qpdf_is_same_page(qpdf_data pdf_a, qpdf_oh a, qpdf_data pdf_b, qpdf_oh b)
{
  int left = SAME_VALUES_MAX;

  try {
    auto page_a = object_of(pdf_a, a), page_b = object_of(pdf_b, b);
    auto content = content_of(page_b);

    return !content.empty() && content_of(page_a) == content &&
           is_same(page_a.getKey("/Resources"), page_b.getKey("/Resources"), 0,
                   left);
  } catch (std::exception &) {
    return false;
  }
}
