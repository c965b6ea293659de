import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { csvOf } from '../../src/dashboard/runs/csv.ts';

it('a table is read again as it was written, whatever stands in its cells', () => {
  const rows = [
    ['1', 'a, b', 'say "no"', 'two\nlines'],
    ['2', '', "it's", '\r'],
  ];
  const text = csvOf(['row', 'field', 'code', 'message'], [...rows, ['3', null, '', 'last']]);
  expect(parse(text)).toEqual([
    ['row', 'field', 'code', 'message'],
    ['1', 'a, b', 'say "no"', 'two\nlines'],
    ['2', '', "it's", "'\r"],
    ['3', '', '', 'last'],
  ]);
});

it('a cell that a spreadsheet would take for a formula is text', () => {
  expect(
    parse(
      csvOf(
        ['=1+1', '@SUM(A1)'],
        [
          ['-2', '+3'],
          ['\tx', 'x=1'],
        ],
      ),
    ),
  ).toEqual([
    ["'=1+1", "'@SUM(A1)"],
    ["'-2", "'+3"],
    ["'\tx", 'x=1'],
  ]);
});
