/** A number of credits, for people: `1 credit`, `12 credits`. */
export function creditsText(credits: number): string {
  return `${credits} ${credits === 1 ? "credit" : "credits"}`;
}
