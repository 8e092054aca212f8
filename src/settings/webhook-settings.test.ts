import { describe, expect, it } from 'vitest'
import { type ConfigurationFaults, type Environment, loadConfig } from './config.js'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

const faultsOf = (env: Environment) => {
  try {
    loadConfig(env)
    return []
  } catch (error) {
    return (error as ConfigurationFaults).faults.filter((fault) => fault.startsWith('WEBHOOK'))
  }
}
const given = (url: string, more: Environment = {}) => faultsOf({ WEBHOOK_URL: url, WEBHOOK_SECRET: secret, ...more })

describe('the settings of webhooks', () => {
  it('are the address and the secrets', () => {
    const both = `${secret}, whsec_${Buffer.alloc(24, 9).toString('base64')}`
    const config = loadConfig({ WEBHOOK_URL: 'https://app.example.com/hook?token=1', WEBHOOK_SECRET: both })
    expect(config).toMatchObject({ webhookUrl: 'https://app.example.com/hook?token=1', webhookAllowPrivate: 'false' })
    expect(config.webhookSecret).toHaveLength(2)
  })

  it('belong together', () => {
    const together = ['WEBHOOK_URL and WEBHOOK_SECRET: set both or neither']
    expect(faultsOf({ WEBHOOK_URL: 'https://app.example.com' })).toEqual(together)
    expect(faultsOf({ WEBHOOK_SECRET: secret })).toEqual(together)
  })

  it.each([
    'app.example.com',
    'ftp://app.example.com',
    'https://user:pw@app.example.com',
    'https://app.example.com#here',
  ])('refuse the address %s', (url) => {
    expect(given(url)).toEqual(['WEBHOOK_URL: must be an address such as https://app.example.com/webhooks'])
  })

  it.each([
    'http://localhost:4000',
    'https://127.0.0.1',
    'https://[::1]',
    'https://10.1.2.3',
    'https://169.254.169.254',
    'https://0x7f000001',
    'https://app.localhost',
  ])('allow %s only if that is said', (url) => {
    expect(given(url)).toEqual([expect.stringContaining('set WEBHOOK_ALLOW_PRIVATE=true')])
    expect(given(url, { WEBHOOK_ALLOW_PRIVATE: 'true', NODE_ENV: 'production' })).toEqual([])
  })

  it('need https in production', () => {
    expect(given('http://app.example.com')).toEqual([])
    expect(given('http://app.example.com', { NODE_ENV: 'production' })).toEqual([
      'WEBHOOK_URL: must begin with https:// in production; for a receiver in a private network set WEBHOOK_ALLOW_PRIVATE=true',
    ])
    const allowed = { NODE_ENV: 'production', WEBHOOK_ALLOW_PRIVATE: 'true' }
    expect(given('http://hooks.internal', allowed)).toEqual([])
    for (const url of ['http://8.8.8.8/hook', 'http://[2606:4700::1111]/'])
      expect(given(url, allowed)).toEqual([
        'WEBHOOK_URL: must begin with https:// in production, because its address is public',
      ])
    expect(given('https://8.8.8.8/hook', allowed)).toEqual([])
  })

  it.each(['whsec_', 'whsec_dG9vIHNob3J0', secret.slice(6), `${secret};${secret}`, `whsec_${'!'.repeat(44)}`])(
    'refuse the secret %s, and do not repeat it',
    (bad) => {
      const [fault = ''] = faultsOf({ WEBHOOK_URL: 'https://app.example.com', WEBHOOK_SECRET: bad })
      expect(fault).toMatch(/^WEBHOOK_SECRET: must be whsec_ and 24 to 64 random bytes in base64/)
      expect(fault).not.toContain(bad.slice(8, 20) || 'nothing')
    },
  )
})
