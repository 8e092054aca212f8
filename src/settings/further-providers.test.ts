import { describe, expect, it } from 'vitest'
import { type ConfigurationFaults, type Environment, likelyTypos, loadConfig } from './config.js'

const faultsOf = (env: Environment) => {
  try {
    loadConfig(env)
    return []
  } catch (error) {
    return (error as ConfigurationFaults).faults
  }
}

const okta = {
  PROVIDERS: 'okta',
  PROVIDER_OKTA_ISSUER: 'https://id.example.com/',
  PROVIDER_OKTA_CLIENT_ID: 'client',
  PROVIDER_OKTA_CLIENT_SECRET: 'hush',
}

describe('PROVIDERS', () => {
  it('adds providers after the two others, each with its settings', () => {
    const { providers } = loadConfig(okta)
    expect(Object.keys(providers)).toEqual(['provider_a', 'provider_b', 'provider_okta'])
    expect(providers.provider_okta).toEqual({
      kind: 'openid_connect',
      name: 'Okta',
      issuer: 'https://id.example.com',
      trustEmail: false,
      clientId: 'client',
      clientSecret: 'hush',
    })
  })

  it.each(['..', 'a', 'b', 'Okta', 'my_own', 'my-own', '1st', 'x/y', '__proto__', 'a'.repeat(31)])(
    'refuses the name %s',
    (name) => {
      expect(faultsOf({ PROVIDERS: `okta1,${name}` })[0]).toBe(
        'PROVIDERS: must be names of 2 to 30 small letters and digits, such as microsoft, separated by commas',
      )
    },
  )

  it('refuses a name twice, and too many', () => {
    expect(faultsOf({ ...okta, PROVIDERS: 'okta,okta' })).toEqual(['PROVIDERS: must not have a name twice'])
    const many = Array.from({ length: 21 }, (_, at) => `issuer${at}`).join()
    expect(faultsOf({ PROVIDERS: many })[0]).toBe('PROVIDERS: must have at most 20 names')
  })

  it('names what is missing for a provider', () => {
    expect(faultsOf({ PROVIDERS: 'okta', PROVIDER_OKTA_ISSUER: 'https://id.example.com' })).toEqual([
      'PROVIDER_OKTA_CLIENT_ID: must be set, because PROVIDERS names okta',
      'PROVIDER_OKTA_CLIENT_SECRET: must be set, because PROVIDERS names okta',
    ])
  })

  it('needs https in production', () => {
    const faults = faultsOf({ ...okta, NODE_ENV: 'production', PROVIDER_OKTA_ISSUER: 'http://id.example.com' })
    expect(faults).toContain('PROVIDER_OKTA_ISSUER: must begin with https:// in production')
  })

  it('names the settings of a provider that PROVIDERS does not list', () => {
    expect(likelyTypos(okta)).toEqual([])
    expect(likelyTypos({ PROVIDER_OKTA_CLIENT_ID: 'client' })).toEqual([
      'PROVIDER_OKTA_CLIENT_ID is not used: PROVIDERS does not name okta',
    ])
  })
})
