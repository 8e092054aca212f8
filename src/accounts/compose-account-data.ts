import type { Clock } from '../lib/clock.js'
import type { Nouns } from '../service/nouns.js'
import {
  createAccountData,
  createActivityData,
  createAddressesData,
  createNamesData,
  createWaysInData,
} from './account-data.js'

/** Composes the data of an account, for the export by its user and for `latchkey user export`. */
export const composeAccountData = (nouns: Nouns, clock: Clock) =>
  createAccountData({
    clock,
    names: createNamesData(nouns),
    addresses: createAddressesData(nouns),
    waysIn: createWaysInData(nouns),
    activity: createActivityData(nouns),
  })
