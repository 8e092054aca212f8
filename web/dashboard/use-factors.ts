import { useEffect, useState } from 'preact/hooks'
import type { Factors } from '../../src/contract/schemas.js'
import { client } from '../client.js'
import { useStableCallback } from '../stable-callback.js'

/** What the account can sign in with. Several panels show parts of it, and a change of one may change another. */
export const useFactors = () => {
  const [factors, setFactors] = useState<Factors>()
  const loadFactors = useStableCallback(async () => {
    const answer = await client.factors()
    if (!answer.refused) setFactors(answer.value)
  })
  useEffect(() => {
    void loadFactors()
  }, [])
  return { factors, loadFactors }
}
