import { expect, it } from 'vitest'
import { meantAddress } from './address-slips.js'

it.each([
  ['maria@gmial.com', 'maria@gmail.com'],
  ['maria@gamil.com', 'maria@gmail.com'],
  ['maria@gmai.com', 'maria@gmail.com'],
  ['maria@gmaill.com', 'maria@gmail.com'],
  ['maria@gnail.com', 'maria@gmail.com'],
  ['maria@gmail.con', 'maria@gmail.com'],
  ['maria@gmail.co', 'maria@gmail.com'],
  ['maria@gmial.con', 'maria@gmail.com'],
  ['maria@hotmial.com', 'maria@hotmail.com'],
  ['maria@hotmial.de', 'maria@hotmail.de'],
  ['maria@yaho.co.uk', 'maria@yahoo.co.uk'],
  ['maria@outlok.com', 'maria@outlook.com'],
  ['maria@tonline.de', 'maria@t-online.de'],
  [' Maria.M@GMIAL.COM ', 'Maria.M@gmail.com'],
  ['maria@example.con', 'maria@example.com'],
  ['maria@mail.example.ogr', 'maria@mail.example.org'],
  ['"a@b"@gmial.com', '"a@b"@gmail.com'],
])('offers what was meant by %s', (typed, meant) => {
  expect(meantAddress(typed)).toBe(meant)
})

it.each([
  'maria@gmail.com',
  'maria@yahoo.fr',
  'maria@hotmail.co.uk',
  'maria@mail.com',
  'maria@ymail.com',
  'maria@example.com',
  'maria@example.co',
  'maria@gmial.example',
  'maria@mailbox.example',
  'maria@email.com',
  'gmial.com',
  '@gmial.com',
  'maria@',
  'maria@gmail',
  'maria@.con',
  'maria@constructor.com',
  'maria@example.constructor',
  '',
])('leaves %s as it is', (typed) => {
  expect(meantAddress(typed)).toBeUndefined()
})
