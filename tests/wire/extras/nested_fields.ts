/** What becomes of the fields below a request's own. A new one of a new version of an SDK is in none of these lists. */

/** IDs of what is kept with the provider for the operator: rejected unless the route lists them. */
export const KEPT = "container container_id file_id file_ids skill_id vector_store_ids";

/** How long a prompt cache lives: usual lifetimes, or what the route has a price for. */
export const CACHE = "cache_control prompt_cache_breakpoint";

/** Settings of what runs at the upstream: it is left out with them, or has a price, and what it finds is input. */
export const HOSTED =
  "allowed_callers allowed_domains approval_request_id attributes authorization authorization_token background " +
  "bill_to blocked_domains caching categories comparison_response_id connector_id context_compression cyber " +
  "domain_secrets embedding_weight external_web_access filters frame_count frame_duration_ms headers hybrid_search " +
  "input_fidelity input_image_mask max_content_tokens max_num_results max_uses mcp_server_name memory_limit " +
  "moderation moderation_details moderation_stage network_policy output_compression output_format partial_images " +
  "policy prewarm quality ranker ranking_options require_approval response_inclusion score_threshold " +
  "search_content_types search_context_size server_description server_label server_url size svg svg_usage " +
  "text_weight token tunnel_id url_sources use_cache user_location";

/** Text, keys and numbers that count as input, and settings of it that change nothing of its price. */
export const COUNTED =
  "acknowledged_safety_checks action actions active allowed_tools always annotations approve approximate arguments " +
  "async audio block_binding budget_tokens button bytes call_id caller caller_id citations cited_text city clear_at " +
  "clear_at_least clear_tool_inputs client_tool_results close_tab code command commands compact_threshold " +
  "complexity configs content context country cursor_position custom data default_config defer_loading definition " +
  "description detail diff disable_parallel_tool_use display display_height display_height_px display_number " +
  "display_width display_width_px document_index document_title domain double_click download_id " +
  "eager_input_streaming edits effort enable_zoom enabled encrypted_content encrypted_index encrypted_stdout " +
  "end_block_index end_char_index end_index end_page_number env environment error error_code error_message " +
  "exclude_tools execution exit_code file file_data file_type file_upload file_url filename find fingerprint " +
  "form_input format from function function_call generate_summary get_page_text grammar hold_key hover id image_url " +
  "include_obfuscation include_usage index input input_audio input_examples input_schema input_tokens instructions " +
  "is_error is_file_update javascript_exec json_schema keep key keys left_click left_click_drag left_mouse_down " +
  "left_mouse_up lines list_tabs logprob logprobs logs max_characters max_output_length max_tokens media_type " +
  "message middle_click mode model mouse_move name namespace navigate never new_lines new_start new_tab num_lines " +
  "old_lines old_start operation outcome output output_config output_schema output_tokens outputs oversized_image " +
  "page_age param parameters path pattern pause_after_compaction pending_safety_checks phase " +
  "prefix_mismatch_behavior previous_message_id properties queries query read_console read_network read_only " +
  "read_page reason reasoning reasoning_tokens refusal region remaining required result results retrieved_at " +
  "return_code revised_prompt right_click role schema score screenshot scroll scroll_to scroll_x scroll_y " +
  "search_result_index server_name server_tool_results signature size_bytes skills source sources speed " +
  "start_block_index start_char_index start_index start_line start_page_number state_changes status stderr stdout " +
  "stop_reason strict summary switch_tab syntax tab_id tabs task_budget text thinking timeout_ms timezone title to " +
  "tool tool_call_id tool_calls tool_changes tool_configuration tool_id tool_name tool_names tool_references " +
  "tool_use_id tools toolset_name top_logprobs total total_lines total_tokens transformations trigger triple_click " +
  "ttl type url user user_id user_input value variables verbosity version voice wait working_directory x y zoom";
