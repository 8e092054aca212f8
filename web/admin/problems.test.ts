import { expect, it } from 'vitest'
import { unregisteredSentence } from '../../src/applications/applications.js'
import { admin as german } from '../words/admin/de.js'
import { sentenceOfProblem } from './problems.js'

const inGerman = (kind: string, message: string) => sentenceOfProblem({ kind, message }, german.problems)

it('says in the language of the page which address is not registered, and which are', () => {
  const message = unregisteredSentence('redirect_uri', 'https://a.example/x', [
    'https://a.example/1',
    'https://a.example/2',
  ])
  expect(inGerman('redirect_address', message)).toBe(
    'redirect_uri: Die Adresse https://a.example/x ist nicht eingetragen. Eingetragen: https://a.example/1, https://a.example/2',
  )
  const none = unregisteredSentence('redirect_uri', 'https://a.example/x', [])
  expect(inGerman('redirect_address', none)).toContain(
    'https://a.example/x ist nicht eingetragen, und auch keine andere',
  )
})

it('says of what it has no words for which kind it is, with the English sentence', () => {
  expect(inGerman('grant', 'The code `a` is of no use')).toBe(
    'Ein Code oder ein Token konnte nicht eingetauscht werden. Auf Englisch: The code a is of no use',
  )
})
