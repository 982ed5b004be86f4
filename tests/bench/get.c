/* get.c - one GET with libcurl, the least there is: what large.sh compares
 * the backend with. usage: get URL */
#include <curl/curl.h>

int main(int argc, char **argv)
{
  CURL *easy = curl_easy_init();

  if (argc != 2 || easy == NULL)
    return 2;
  curl_easy_setopt(easy, CURLOPT_URL, argv[1]);
  return (int)curl_easy_perform(easy);
}
