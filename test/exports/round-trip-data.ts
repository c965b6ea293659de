// A package with every type, key and kind of name, and with the values that are lost first.
import type { Resource } from '../support/story.ts';

export const every: readonly Resource[] = [
  {
    name: 'kinds',
    rows: [
      'id,text,whole,part,flag,day,clock,moment,year,month,any',
      '1,"a ""quoted"", cell",9223372036854775808,1.50,yes,1861-07-01,23:59:59.123456,2020-02-29T12:00:00,-0044,1999-12,x',
      '2,"two\nlines\r\nand more",1000000000000000000000000000000,-INF,no,0001-01-01,00:00:00,1969-12-31T23:59:59.999999999Z,12000,0001-01,',
      '3,NULL,-1,NaN,,,,,,,NULL1',
      '4, spaced ,0,000.10,no,9999-12-31,,,1999,,"\\N"',
      '5,𝔘nicode 😀 e\u0301 \u2028,-9223372036854775809,12345678901234567890.0123456789,yes,,,,,,"\\."',
      '',
    ].join('\n'),
    schema: {
      fields: [
        { name: 'id', type: 'integer', constraints: { minimum: 1, maximum: 5 } },
        { name: 'text', type: 'string', title: 'Ein Text', constraints: { maxLength: 100 } },
        { name: 'whole', type: 'integer' },
        { name: 'part', type: 'number' },
        { name: 'flag', type: 'boolean', trueValues: ['yes'], falseValues: ['no'], constraints: { enum: ['yes', 'no'] } },
        { name: 'day', type: 'date' },
        { name: 'clock', type: 'time' },
        { name: 'moment', type: 'datetime' },
        { name: 'year', type: 'year' },
        { name: 'month', type: 'yearmonth' },
        { name: 'any', type: 'any' },
      ],
      primaryKey: 'id',
      uniqueKeys: [['whole']],
    },
  },
  {
    name: 'links / of …',
    rows: 'a;b;parent_a;parent_b;kind\n1;ß;;;1\n2;ß;1;ß;2\n10;S;1;ß;5\n',
    dialect: { delimiter: ';' },
    schema: {
      fields: [
        { name: 'a', type: 'integer' },
        { name: 'b', type: 'string' },
        { name: 'parent_a', type: 'integer' },
        { name: 'parent_b', type: 'string' },
        { name: 'kind', type: 'integer' },
      ],
      primaryKey: ['a', 'b'],
      foreignKeys: [
        { fields: ['parent_a', 'parent_b'], reference: { resource: '', fields: ['a', 'b'] } },
        { fields: 'kind', reference: { resource: 'kinds', fields: 'id' } },
      ],
    },
  },
  {
    name: 'keyless',
    rows: 'n,x\n1.50,b\n1.5,b\n1.5,a\n1.50,b\n,\n',
    schema: {
      fields: [
        { name: 'n', type: 'number' },
        { name: 'x', type: 'string' },
      ],
    },
  },
  { name: 'one column', rows: 'only\nb\n""\n\\.\na\n', schema: { fields: [{ name: 'only', type: 'string' }], missingValues: ['-'] } },
  {
    name: 'empty',
    rows: 'id,note\n',
    schema: {
      fields: [
        { name: 'id', type: 'string' },
        { name: 'note', type: 'string' },
      ],
      primaryKey: 'id',
    },
  },
  { name: 'plain', rows: 'a column,"another ""one"""\nx,\n,\n' },
  { name: 'long', rows: `${'é'.repeat(199)},${'é'.repeat(198)}è\n1,2\n` },
];
