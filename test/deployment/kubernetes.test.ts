import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { Job } from 'kubernetes-models/batch/v1/Job'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap'
import { Service } from 'kubernetes-models/v1/Service'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config.js'
import { read } from '../support/project.js'

const run = promisify(execFile)
const home = fileURLToPath(new URL('../..', import.meta.url))
type Manifest = { apiVersion: string; kind: string; [field: string]: unknown }

const manifests = async (): Promise<Manifest[]> => {
  const files = ['deploy/kubernetes/latchkey.yaml', 'deploy/kubernetes/migrate.yaml']
  const texts = await Promise.all(files.map(read))
  return texts.flatMap((text) => parseAllDocuments(text).map((document): Manifest => document.toJS()))
}

/** The schemas of Kubernetes' own API document, as far as the shipped kinds need them. */
const models: Record<string, new (data: never) => { validate(): void }> = {
  'v1/ConfigMap': ConfigMap,
  'v1/Service': Service,
  'apps/v1/Deployment': Deployment,
  'batch/v1/Job': Job,
  'policy/v1/PodDisruptionBudget': PodDisruptionBudget,
}

const faultOf = (manifest: Manifest) => {
  const Model = models[`${manifest.apiVersion}/${manifest.kind}`]
  if (!Model) return `no schema for ${manifest.kind}`
  try {
    new Model(manifest as never).validate()
    return undefined
  } catch (error) {
    return String(error)
  }
}

/** The schemas let unknown fields pass, as the server does. The types of the same package name a mistyped field. */
const typeFaults = async (all: Manifest[]) => {
  const folder = await mkdtemp(join(home, 'node_modules/.latchkey-manifests-'))
  const lines = all.map(({ apiVersion, kind, ...rest }, at) => {
    const manifest = JSON.stringify({ apiVersion, kind, ...rest })
    return `import type { I${kind} as T${at} } from 'kubernetes-models/${apiVersion}/${kind}'
export const m${at}: T${at} = ${manifest}`
  })
  try {
    await writeFile(join(folder, 'check.ts'), lines.join('\n'))
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--ignoreConfig', '--pretty', 'false']
    const modules = ['--module', 'esnext', '--moduleResolution', 'bundler', '--types', '']
    await run(join(home, 'node_modules/.bin/tsc'), [...options, ...modules, join(folder, 'check.ts')])
    return ''
  } catch (error) {
    return error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

describe('the Kubernetes manifests', () => {
  it('are what the schemas of Kubernetes allow, and have no field that it does not know', async () => {
    const all = await manifests()
    expect(all.map(({ kind }) => kind)).toEqual(['ConfigMap', 'Deployment', 'Service', 'PodDisruptionBudget', 'Job'])
    expect(all.map(faultOf)).toEqual(all.map(() => undefined))
    expect(await typeFaults(all)).toBe('')
  })

  it('set no variables that look like mistyped settings', async () => {
    const pods = (await manifests()).filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
    expect(pods.map((pod) => JSON.stringify(pod).includes('"enableServiceLinks":false'))).toEqual([true, true])
  })

  it('would be refused with a wrong type or a mistyped field', async () => {
    const wrong = (spec: object) => ({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'x' }, spec })
    expect(faultOf(wrong({ ports: [{ port: 'http' }] }))).toMatch(/port must be integer/)
    expect(await typeFaults([wrong({ selektor: {} })])).toMatch(/selektor/)
  })

  it('ask /health/ready for traffic, /health/live for restarts, and give valid settings', async () => {
    const all = await manifests()
    const deployment = JSON.stringify(all.find(({ kind }) => kind === 'Deployment'))
    expect(deployment).toContain('"readinessProbe":{"httpGet":{"path":"/health/ready"')
    expect(deployment).toContain('"livenessProbe":{"httpGet":{"path":"/health/live"')
    const { data } = all.find(({ kind }) => kind === 'ConfigMap') as unknown as { data: Record<string, string> }
    const given = Object.entries(data).filter(([name]) => !name.endsWith('_FILE'))
    const secrets = {
      DATABASE_URL: 'postgres://latchkey@database/latchkey',
      REDIS_URL: 'redis://redis',
      JWT_SECRET: Array.from({ length: 96 }, (_, at) => ((at * 7) % 36).toString(36)).join(''),
      SMTP_URL: 'smtp://mail',
    }
    const config = loadConfig({ NODE_ENV: 'production', ...secrets, ...Object.fromEntries(given) })
    expect([config.publicUrl, config.metricsPort]).toEqual(['https://app.example.com', 9464])
  })
})
