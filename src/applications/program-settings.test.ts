import { expect, it } from 'vitest'
import { programNames, programs } from './program-settings.js'
import { proxyNames, proxySettings } from './proxy-lines.js'

const [issuer, home] = ['https://id.example.com', 'https://wiki.example.com']
const texts = [
  ...programNames.map((name) => [name, programs[name].settings({ id: '1', secret: '2', issuer, name: 'Wiki', home })]),
  ...proxyNames.map((name) => [name, proxySettings(name, home, issuer, 'latchkey application check Wiki')]),
] as const

it.each(texts)('has each sentence of what is pasted for %s in a comment', (_, text) => {
  expect(text).toMatch(/^# [A-Z]/)
  expect(text).not.toMatch(/^(?!#)(?:[A-Z][a-z]+ [a-z]+ |.*[a-z]\.(?: |$))/m)
})
