// Compiled, never run: what a program in TypeScript would call.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

const web = createClient<paths>({ baseUrl: "https://push.example.com" });
const state: components["schemas"]["AutomationState"] = "paused";

export async function program(): Promise<string | undefined> {
  const { data, error } = await web.POST("/api/v1/messages", {
    body: { to: { contact: "ada" }, content: { title: "Hello", body: "x" } },
  });
  const run = await web.GET("/api/v1/runs/{id}", { params: { path: { id: 7 } } });
  return error?.detail ?? data?.id ?? run.data?.cause?.code ?? state;
}
