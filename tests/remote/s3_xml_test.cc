#include "remote/s3_xml.h"

#include <doctest/doctest.h>

#include "support/expect.h"

namespace wdelta {

namespace {

Result<S3Listing> ParsedListing(const std::string& text) {
  return ReadS3Listing(AsBytes(text));
}

std::string Repeated(const std::string& text, size_t count) {
  std::string all;
  all.reserve(text.size() * count);
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("a listing is read with its keys decoded") {
  const auto listing = ParsedListing(R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix>run7%2F</Prefix>
<KeyCount>2</KeyCount><MaxKeys>2</MaxKeys><IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>
<Contents><Key>run7%2Fa+b</Key><LastModified>2013-05-24T00:00:00.000Z</LastModified><ETag>&quot;x&quot;</ETag>
<Size>12</Size><StorageClass>STANDARD</StorageClass><Owner><ID>t</ID><DisplayName/></Owner></Contents>
<Contents><Size>18446744073709551615</Size><Key>run7/%C3%A4</Key></Contents></ListBucketResult>)");
  REQUIRE_OK(listing);
  CHECK(listing->more);
  REQUIRE(listing->objects.size() == 2);
  CHECK(listing->objects[0].key == "run7/a b");
  CHECK(listing->objects[0].size == 12);
  CHECK(listing->objects[0].modified == 1369353600);
  CHECK(listing->objects[1].key == "run7/\xc3\xa4");
  CHECK(listing->objects[1].size == UINT64_MAX);
  CHECK(listing->objects[1].modified == 0);
}

TEST_CASE("keys of a listing that is not encoded are taken as they are, entities resolved") {
  const auto listing = ParsedListing(
      "<ListBucketResult><IsTruncated>false</"
      "IsTruncated><Contents><Key>a%2F&amp;&lt;&gt;&apos;&quot;&#47;&#xe4;&#x1F600;"
      "</Key><Size>0</Size></Contents></ListBucketResult>");
  REQUIRE_OK(listing);
  CHECK_FALSE(listing->more);
  REQUIRE(listing->objects.size() == 1);
  CHECK(listing->objects[0].key == "a%2F&<>'\"/\xc3\xa4\xf0\x9f\x98\x80");
}

TEST_CASE("a listing without a key, without a size, with a bad number or a bad escape is refused") {
  const auto with = [](const std::string& contents) {
    return ParsedListing("<ListBucketResult><EncodingType>url</EncodingType><Contents>" + contents +
                         "</Contents></ListBucketResult>");
  };
  REQUIRE_OK(with("<Key>a</Key><Size>1</Size>"));
  CHECK_FAILS(with("<Size>1</Size>"), ErrorKind::kIntegrity, "no key or no size");
  CHECK_FAILS(with("<Key>a</Key>"), ErrorKind::kIntegrity, "no key or no size");
  CHECK_FAILS(with("<Key>a</Key><Size>-1</Size>"), ErrorKind::kIntegrity, "not a number");
  CHECK_FAILS(with("<Key>a</Key><Size>18446744073709551616</Size>"), ErrorKind::kIntegrity, "not a number");
  CHECK_FAILS(with("<Key>a%2</Key><Size>1</Size>"), ErrorKind::kIntegrity, "badly encoded");
  CHECK_FAILS(with("<Key>a%zz</Key><Size>1</Size>"), ErrorKind::kIntegrity, "badly encoded");
  CHECK_FAILS(ParsedListing("<Error><Code>x</Code></Error>"), ErrorKind::kIntegrity, "no listing");
  CHECK_FAILS(ParsedListing("<html><body>welcome</body></html>"), ErrorKind::kIntegrity, "no listing");
}

TEST_CASE("an error is told from other documents") {
  const std::string text =
      "<?xml version='1.0'?><Error><Code>AuthorizationHeaderMalformed</Code><Message>it&apos;s wrong</Message>"
      "<Region>eu-west-1</Region></Error>";
  const std::optional<S3Error> error = ReadS3Error(AsBytes(text));
  REQUIRE(error);
  CHECK(error->code == "AuthorizationHeaderMalformed");
  CHECK(error->message == "it's wrong");
  CHECK(error->region == "eu-west-1");
  CHECK_FALSE(ReadS3Error({}));
  CHECK_FALSE(ReadS3Error(AsBytes("<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")));
  CHECK_FALSE(ReadS3Error(AsBytes("<html>Error</html>")));
}

TEST_CASE("one text is found by its path") {
  const std::string text =
      "<s3:InitiateMultipartUploadResult><s3:UploadId> 2~x </s3:UploadId></s3:InitiateMultipartUploadResult>";
  const auto id = ReadS3Text(AsBytes(text), "InitiateMultipartUploadResult/UploadId");
  REQUIRE_OK(id);
  CHECK(*id == " 2~x ");
  CHECK_FAILS(ReadS3Text(AsBytes(text), "UploadId"), ErrorKind::kIntegrity, "'UploadId'");
}

TEST_CASE("what is not well formed, or more than S3 sends, is refused") {
  const auto read = [](const std::string& text) { return ReadXml(AsBytes(text)); };
  REQUIRE_OK(read("\xef\xbb\xbf<a b='>' c=\"'\"><!-- > --><b/></a >\n"));
  CHECK_FAILS(read(""), ErrorKind::kIntegrity, "no element");
  CHECK_FAILS(read("  "), ErrorKind::kIntegrity, "no element");
  CHECK_FAILS(read("text"), ErrorKind::kIntegrity, "outside");
  CHECK_FAILS(read("<a>"), ErrorKind::kIntegrity, "inside an element");
  CHECK_FAILS(read("<a"), ErrorKind::kIntegrity, "inside a tag");
  CHECK_FAILS(read("<a b='"), ErrorKind::kIntegrity, "inside a tag");
  CHECK_FAILS(read("<a></b>"), ErrorKind::kIntegrity, "did not begin");
  CHECK_FAILS(read("</a>"), ErrorKind::kIntegrity, "did not begin");
  CHECK_FAILS(read("<a/><b/>"), ErrorKind::kIntegrity, "two outermost");
  CHECK_FAILS(read("<a/>x"), ErrorKind::kIntegrity, "outside");
  CHECK_FAILS(read("<>"), ErrorKind::kIntegrity, "proper name");
  CHECK_FAILS(read("<a<b/>"), ErrorKind::kIntegrity, "inside a tag");
  CHECK_FAILS(read("<!-- "), ErrorKind::kIntegrity, "comment");
  CHECK_FAILS(read("<?xml "), ErrorKind::kIntegrity, "comment");
  CHECK_FAILS(read("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"), ErrorKind::kIntegrity, "document type");
  for (const char* entity :
       {"&b;", "&;", "&", "&#;", "&#x;", "&#0;", "&#xd800;", "&#x110000;", "&#99999999999;", "&amp"})
    CHECK_FAILS(read("<a>" + std::string(entity) + "</a>"), ErrorKind::kIntegrity, "entity");
  REQUIRE_OK(read(Repeated("<a>", 8) + Repeated("</a>", 8)));
  CHECK_FAILS(read(Repeated("<a>", 9) + Repeated("</a>", 9)), ErrorKind::kIntegrity, "too deep");
  CHECK_FAILS(read("<a>" + Repeated("<b/>", 100'000) + "</a>"), ErrorKind::kIntegrity, "100000 elements");
  CHECK_FAILS(read("<a>" + std::string(16 << 20, ' ') + "</a>"), ErrorKind::kIntegrity, "16 MiB");
}

TEST_CASE("text that was escaped reads as it was") {
  const std::string text = "\"a&b<c>d\"";
  const auto elements = ReadXml(AsBytes("<a>" + XmlEscape(text) + "</a>"));
  REQUIRE_OK(elements);
  CHECK(elements->front().text == text);
}

}  // namespace wdelta
