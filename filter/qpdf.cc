/*
 * qpdf.cc - the C++ behind qpdf.h.
 */
#include "filter/qpdf.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#define POINTERHOLDER_TRANSITION 4 /* no deprecated classes */
#include <qpdf/DLL.h>
#include <qpdf/Buffer.hh>
#include <qpdf/Pipeline.hh>
#include <qpdf/QPDF.hh>
#include <qpdf/QPDFXRefEntry.hh>

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

/* ---- resources that are not used ---- */

using words = std::set<std::string>;

/* The lists of resources, and the operators that use them. */
const struct {
  const char *key, *operators[4];
} resource_lists[] = {{"/ColorSpace", {"cs", "CS", "BI"}},
                      {"/ExtGState", {"gs"}},
                      {"/Font", {"Tf"}},
                      {"/Pattern", {"scn", "SCN"}},
                      {"/Properties", {"BDC", "DP"}},
                      {"/Shading", {"sh"}},
                      {"/XObject", {"Do"}}};
#define OPERATOR_MAX 3 /* bytes */

int hex_digit(char c)
{
  auto digits = "0123456789abcdef";
  auto at = c != '\0' ? strchr(digits, c | 0x20) : nullptr;

  return at != nullptr ? static_cast<int>(at - digits) : -1;
}

/* "/F#32" is the name /F2. */
std::string decoded(const std::string &word)
{
  std::string name;

  for (size_t i = 0; i < word.size(); i++) {
    bool is_code = word[i] == '#' && i + 2 < word.size() &&
                   hex_digit(word[i + 1]) >= 0 && hex_digit(word[i + 2]) >= 0;

    name += is_code ? static_cast<char>(hex_digit(word[i + 1]) * 16 +
                                        hex_digit(word[i + 2]))
                    : word[i];
    i += is_code ? 2 : 0;
  }
  return name;
}

/* Adds all names and operators, and what only looks like them, in strings,
 * comments, and images: none is missed. */
void add_words(QPDFObjectHandle stream, words &found)
{
  static const std::string ends("\0\t\n\f\r ()<>[]{}/%", 16);
  auto data = stream.getStreamData();
  std::string text(reinterpret_cast<char *>(data->getBuffer()),
                   data->getSize());

  for (size_t at = 0, end; at < text.size(); at = end) {
    end = std::min(text.find_first_of(ends, at + 1), text.size());
    if (text[at] == '/')
      found.insert(decoded(text.substr(at, end - at)));
    else if (ends.find(text[at]) != std::string::npos)
      at++;
    if (end - at <= OPERATOR_MAX)
      found.insert(text.substr(at, end - at));
  }
}

/* What has content, and perhaps resources: a page, form, pattern, or font. */
struct owner {
  QPDFObjectHandle dict;
  std::vector<QPDFObjectHandle> contents;
};

/* The owners that a resource is, or contains. */
void add_owners(QPDFObjectHandle resource, std::vector<owner> &owners)
{
  if (resource.isStream()) {
    auto dict = resource.getDict();

    if (dict.getKey("/Subtype").isNameAndEquals("/Form") ||
        dict.getKey("/PatternType").isInteger())
      owners.push_back({dict, {resource}});
  } else if (resource.isArray()) { /* the font of a graphics state */
    if (resource.getArrayNItems() > 0)
      add_owners(resource.getArrayItem(0), owners);
  } else if (resource.getKey("/Subtype").isNameAndEquals("/Type3")) {
    owner font = {resource, {}};

    for (auto &glyph : resource.getKey("/CharProcs").getDictAsMap())
      if (glyph.second.isStream())
        font.contents.push_back(glyph.second);
    owners.push_back(font);
  }
}

/* All owners among those resources that have these names. */
std::vector<owner> owners_of(QPDFObjectHandle resources, const words &names)
{
  std::vector<owner> owners;

  for (auto &list : resource_lists)
    if (resources.getKey(list.key).isDictionary())
      for (auto &entry : resources.getKey(list.key).getDictAsMap()) {
        auto resource = entry.second;

        if (names.count(entry.first) == 0)
          continue;
        if (list.key == std::string("/ExtGState") && resource.isDictionary()) {
          add_owners(resource.getKey("/Font"), owners);
          resource = resource.getKey("/SMask");
          if (resource.isDictionary())
            resource = resource.getKey("/G");
        }
        if (resource.isStream() || resource.isDictionary())
          add_owners(resource, owners);
      }
  return owners;
}

/* What the owner uses of its resources. What has no resources of its own uses
 * those of its owner. */
words used_by(const owner &user, QPDFObjectHandle resources)
{
  std::set<QPDFObjGen> read;
  words used;
  size_t before;

  for (auto &content : user.contents)
    add_words(content, used);
  do {
    before = used.size();
    for (auto &part : owners_of(resources, used))
      if (!part.dict.getKey("/Resources").isDictionary())
        for (auto &content : part.contents)
          if (read.insert(content.getObjGen()).second)
            add_words(content, used);
  } while (used.size() > before);
  return used;
}

/* The resources without those that are not used. QPDFObjectHandle would not
 * keep references to nothing. */
QPDFObjectHandle only_used(QPDFObjectHandle resources, const words &used,
                           bool &changed)
{
  auto copy = resources.getDictAsMap();

  for (auto &list : resource_lists) {
    bool is_color = list.key == std::string("/ColorSpace"), is_used = false;
    auto all = copy.find(list.key);

    if (all == copy.end())
      continue;
    for (auto name = list.operators; *name != nullptr; name++)
      is_used = is_used || used.count(*name) > 0;
    if (all->second.isNull() && !is_used) {
      copy.erase(all);
      changed = true;
    } else if (all->second.isDictionary()) {
      auto kept = all->second.getDictAsMap();

      for (auto &entry : all->second.getDictAsMap())
        if (used.count(entry.first) == 0 &&
            !(is_color && entry.first.compare(0, 8, "/Default") == 0)) {
          kept.erase(entry.first);
          changed = true;
        }
      all->second = QPDFObjectHandle::newDictionary(kept);
    }
  }
  return QPDFObjectHandle::newDictionary(copy);
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

bool qpdf_each_stream(qpdf_data data, qpdf_stream_visitor *visitor, void *ctx)
{
  try {
    for (auto &object : qpdf_c_get_qpdf(data)->getAllObjects())
      if (object.isStream() &&
          !visitor(ctx, object.getObjectID(), object.getGeneration()))
        break;
    return true;
  } catch (std::exception &) {
    return false;
  }
}

bool qpdf_has_exact_table(qpdf_data data, const char *bytes, size_t len)
{
  size_t start;

  try {
    for (auto &entry : qpdf_c_get_qpdf(data)->getXRefTable())
      if (entry.second.getType() == 1 && entry.second.getOffset() != 0 &&
          !pdf_file_has_object(bytes, len, entry.second.getOffset(),
                               entry.first.getObj(), entry.first.getGen(),
                               &start))
        return false; /* an offset of 0 is null to viewers */
    return true;
  } catch (std::exception &) {
    return false;
  }
}

void qpdf_trust_table(qpdf_data data, const char *bytes, size_t len,
                      pdf_file_copies *copies, size_t count)
{
  size_t start;

  try {
    for (auto &entry : qpdf_c_get_qpdf(data)->getXRefTable()) {
      auto number = static_cast<size_t>(entry.first.getObj());
      auto offset = entry.second.getType() == 1 ? entry.second.getOffset() : 0;

      if (number >= count)
        continue;
      if (entry.second.getType() != 1)
        copies[number].count++;
      else if (!pdf_file_has_object(bytes, len, offset, entry.first.getObj(),
                                    entry.first.getGen(), &start))
        copies[number].count += pdf_file_has_end_between(
            bytes, len, copies[number].last, static_cast<size_t>(offset));
      else if (start == copies[number].last)
        copies[number].count = 1;
    }
  } catch (std::exception &) {
    return;
  }
}

bool qpdf_count_packed(qpdf_data data, pdf_file_copies *copies, size_t count)
{
  try {
    for (auto &object : qpdf_c_get_qpdf(data)->getAllObjects()) {
      if (!object.isStream() ||
          !object.getDict().getKey("/Type").isNameAndEquals("/ObjStm"))
        continue;
      auto unpacked = object.getStreamData();
      std::istringstream header(
          std::string(reinterpret_cast<char *>(unpacked->getBuffer()),
                      unpacked->getSize()));
      int n = object.getDict().getKey("/N").getIntValueAsInt();
      for (size_t number, offset; n > 0 && header >> number >> offset; n--)
        if (number < count)
          copies[number].count++;
      if (n > 0)
        return false;
    }
    return true;
  } catch (std::exception &) {
    return false;
  }
}

bool qpdf_prints_copied(qpdf_data data, const pdf_file_copies *copies,
                        size_t count)
{
  static const std::set<std::string> not_printed = {
      "/A",          "/AA",
      "/B",          "/DSS",
      "/Dest",       "/Dests",
      "/Names",      "/Metadata",
      "/OpenAction", "/Outlines",
      "/Perms",      "/PieceInfo",
      "/Popup",      "/StructTreeRoot",
      "/Threads",    "/Thumb"};
  std::set<int> seen;
  std::vector<QPDFObjectHandle> waiting;

  try {
    waiting.push_back(qpdf_c_get_qpdf(data)->getRoot());
    while (!waiting.empty()) {
      auto object = waiting.back();
      waiting.pop_back();
      auto id = object.getObjectID();
      if (id > 0 && !seen.insert(id).second)
        continue;
      if (id > 0 && static_cast<size_t>(id) < count && copies[id].count > 1)
        return true;
      if (object.isStream())
        object = object.getDict();
      if (object.isArray()) {
        for (auto &item : object.getArrayAsVector())
          waiting.push_back(item);
      } else if (object.isDictionary()) {
        for (auto &entry : object.getDictAsMap())
          if (not_printed.count(entry.first) == 0)
            waiting.push_back(entry.second);
      }
    }
    return false;
  } catch (std::exception &) {
    return true;
  }
}

bool qpdf_drop_unused(qpdf_data data, int id)
{
  std::set<QPDFObjGen> seen;
  bool changed = false;

  try {
    auto page = qpdf_c_get_qpdf(data)->getObjectByID(id, 0);
    std::vector<owner> waiting = {{page, {}}};
    auto contents = page.getKey("/Contents");

    if (contents.isStream())
      waiting[0].contents.push_back(contents);
    else if (contents.isArray())
      waiting[0].contents = contents.getArrayAsVector();
    while (!waiting.empty()) {
      auto user = waiting.back();
      auto resources = user.dict.getKey("/Resources");

      waiting.pop_back();
      if (!resources.isDictionary() || user.contents.empty() ||
          !seen.insert(user.contents[0].getObjGen()).second)
        continue;
      auto used = used_by(user, resources);
      resources = only_used(resources, used, changed);
      user.dict.replaceKey("/Resources", resources);
      for (auto &part : owners_of(resources, used))
        waiting.push_back(part);
    }
    return changed;
  } catch (std::exception &) {
    return false;
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
