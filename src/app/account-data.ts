import {
  createAccountData,
  createActivityData,
  createAddressesData,
  createNamesData,
  createWaysInData,
} from '../flows/export-account/account-data.js'
import type { Clock } from '../lib/clock.js'
import type { Nouns } from './nouns.js'

/** Composes the data of an account, for the export by its user and for `latchkey user export`. */
export const composeAccountData = (nouns: Nouns, clock: Clock) =>
  createAccountData({
    clock,
    names: createNamesData(nouns),
    addresses: createAddressesData(nouns),
    waysIn: createWaysInData(nouns),
    activity: createActivityData(nouns),
  })
